//! In which settings the experiments of runs differ.

/// The settings of experiments as their files say them, in the order of the first that has each, with the value in each of
/// `specs`: those that are not the same in all. Of one that lacks a setting the value is a dash.
pub fn differing(specs: &[&str]) -> Vec<(String, Vec<String>)> {
    let all: Vec<Vec<(String, String)>> = specs.iter().map(|spec| settings(spec)).collect();
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in all.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let value = |spec: &'_ [(String, String)], key: &str| {
        spec.iter().find(|(of, _)| of == key).map_or("\u{2013}".to_owned(), |(_, value)| value.clone())
    };
    let values = |key: &str| (key.to_owned(), all.iter().map(|spec| value(spec, key)).collect::<Vec<String>>());
    let differ = |(_, values): &(String, Vec<String>)| values.windows(2).any(|two| two[0] != two[1]);
    keys.into_iter().map(values).filter(differ).collect()
}

/// The settings of an experiment as paths and values, as `--set` takes them: `system.servers`, `fault.0.what`.
fn settings(spec: &str) -> Vec<(String, String)> {
    fn walk(path: &str, value: &toml::Value, into: &mut Vec<(String, String)>) {
        let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            toml::Value::Table(table) => table.iter().for_each(|(key, value)| walk(&inner(key), value, into)),
            toml::Value::Array(all) if all.iter().any(toml::Value::is_table) => {
                all.iter().enumerate().for_each(|(at, value)| walk(&inner(&at.to_string()), value, into));
            }
            toml::Value::String(text) => into.push((path.to_owned(), text.clone())),
            other => into.push((path.to_owned(), other.to_string())),
        }
    }
    let mut all = Vec::new();
    // What cannot be read was never run: there is nothing to list of it.
    let table: toml::Table = toml::from_str(spec).unwrap_or_default();
    walk("", &toml::Value::Table(table), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_paths_and_values() {
        let spec =
            "name = \"a\"\n[system]\nservers = 4\n[[fault]]\nwhat = \"down\"\nat = \"5 s\"\n[vary]\nx = [1, 2]\n";
        let expected = [
            ("name", "a"),
            ("system.servers", "4"),
            ("fault.0.what", "down"),
            ("fault.0.at", "5 s"),
            ("vary.x", "[1, 2]"),
        ];
        let mut found = settings(spec);
        found.sort();
        let mut expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_not_the_same_in_all_differs() {
        let (four, eight) =
            ("[system]\nservers = 4\nkind = \"x\"\n", "[system]\nservers = 8\nkind = \"x\"\n[run]\nby = \"sim\"\n");
        let of = |key: &str, values: [&str; 2]| (key.to_owned(), values.map(str::to_owned).to_vec());
        assert_eq!(differing(&[four, eight]), [of("system.servers", ["4", "8"]), of("run.by", ["\u{2013}", "sim"])]);
        assert!(differing(&[four, four]).is_empty());
    }
}
