//! Response times predicted on arrival: their errors, and a policy that goes by them.

use sojourn_model::Knowledge;
use sojourn_model::system::Told;
use sojourn_sim::Control;

use crate::support::{cluster, control, covers, estimate, queue, run, simulate};

/// Joining the least work over two FCFS servers is one queue in front of both: M/M/2 at 0.5, 4/3.
#[test]
fn the_shortest_predicted_response_is_one_common_queue() {
    let fcfs = "discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 s)\"";
    let mut scenario = cluster("exponential(rate = 1 /s)", "shortest-predicted-response", 2, fcfs);
    let refused = simulate(&scenario, &control(1000)).unwrap_err().to_string();
    assert!(refused.contains("predicted-response"), "{refused}");
    scenario.tier().told = vec![Told::PredictedResponse];
    covers(&run(&scenario, 2_000_000), "response_time_mean", 4.0 / 3.0, 0.02, "M/M/2");
}

/// Later arrivals do not matter under FCFS; under PS they do, and the error says how much.
#[test]
fn errors_of_predictions_are_rows() {
    let ask = |discipline: &str, knows| {
        let server = format!("discipline = \"{discipline}\"\ndemand = \"exponential(mean = 1 s)\"");
        let scenario = queue("exponential(rate = 0.8 /s)", &server);
        let control = Control { predict: Some(knows), ..control(400_000) };
        let report = simulate(&scenario, &control).unwrap();
        ["prediction_error_mean", "prediction_error_absolute_mean", "prediction_error_relative_p90"].map(|metric| {
            let estimate = estimate(&report, metric);
            assert!(estimate.interval().is_some(), "{metric}");
            estimate.value().unwrap()
        })
    };
    assert_eq!(ask("fcfs", Knowledge::Demands), [0.0; 3]);
    let [bias, absolute, p90] = ask("ps", Knowledge::Demands);
    assert!(bias < -0.3 && absolute >= -bias && p90 > 0.0, "{bias}, {absolute}, {p90}");
    let [_, absolute, _] = ask("fcfs", Knowledge::Number);
    assert!(absolute > 0.1, "{absolute}");
}
