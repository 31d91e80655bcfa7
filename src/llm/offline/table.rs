//! Tables in results, joined where they speak of the same things.
//!
//! Main type: [`Table`], made by [`tables`]: lists of objects, objects of objects, and objects of figures
//! that share keys with another. Says which rows stand out by their figures alone; knows no domain and
//! writes no text.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::super::NamedResult;

/// Rows of values, each under a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    /// The name of the column that holds the keys, where there is one.
    pub key: Option<String>,
    /// Whether the keys are data; else they only count the rows.
    pub keyed: bool,
    pub columns: Vec<String>,
    /// As many cells as columns; `None` where the row has no such value.
    pub rows: IndexMap<String, Vec<Option<Value>>>,
    /// How many results it was joined from.
    pub sources: usize,
}

/// The tables in these results, joined, and the results that are none.
pub(super) fn tables<'a>(results: &[&'a NamedResult]) -> (Vec<Table>, Vec<&'a NamedResult>) {
    let (mut found, mut others) = (Vec::<Table>::new(), Vec::new());
    let keys = shared_names(results);
    let known: Vec<HashSet<&str>> = results.iter().map(|result| keys_of(&result.value, &keys)).collect();
    for (at, result) in results.iter().enumerate() {
        let shares = || {
            let others = known.iter().enumerate().filter(|(other, _)| *other != at);
            others.map(|(_, other)| other).any(|other| overlap(&known[at], other))
        };
        let table = match &result.value {
            Value::Array(items) => from_list(items, &keys),
            Value::Object(map) if is_nested(map) => Some(from_nested(map)),
            Value::Object(map) if is_figures(map) && shares() => {
                Some(from_figures(map, &column_name(result)))
            }
            _ => None,
        };
        let Some(table) = table else {
            others.push(*result);
            continue;
        };
        match found.iter_mut().find(|other| other.speaks_of(&table)) {
            Some(other) => other.join(table, result),
            None => found.push(table),
        }
    }
    (found, others)
}

impl Table {
    /// The positions of the columns of figures: every value is a number or a percentage.
    pub fn figure_columns(&self) -> Vec<usize> {
        let is_figures = |column: &usize| {
            let mut cells = self.rows.values().filter_map(|row| row[*column].as_ref()).peekable();
            cells.peek().is_some() && cells.all(|cell| figure(cell).is_some())
        };
        let is_id = |name: &str| name.eq_ignore_ascii_case("id") || name.to_lowercase().ends_with("_id");
        (0..self.columns.len()).filter(|at| !is_id(&self.columns[*at])).filter(is_figures).collect()
    }

    /// The figures of a column with their keys, in order of the rows.
    pub fn figures(&self, column: usize) -> Vec<(&str, f64)> {
        let rows = self.rows.iter();
        rows.filter_map(|(key, row)| Some((key.as_str(), figure(row[column].as_ref()?)?))).collect()
    }

    /// The keys of the rows furthest from the median, taken over all columns of figures, each column
    /// counting the same. Empty where fewer than three rows can be compared or all are alike.
    pub fn standing_out(&self) -> Vec<&str> {
        let mut distances: IndexMap<&str, f64> = self.rows.keys().map(|key| (key.as_str(), 0.0)).collect();
        for column in self.figure_columns() {
            let figures = self.figures(column);
            if figures.len() < 3 {
                continue;
            }
            let middle = median(figures.iter().map(|(_, figure)| *figure).collect());
            let distance = |figure: f64| (figure - middle).abs();
            let furthest = figures.iter().map(|(_, figure)| distance(*figure)).fold(0.0, f64::max);
            if furthest > 0.0 && furthest.is_finite() {
                for (key, figure) in figures {
                    if let Some(sum) = distances.get_mut(key) {
                        *sum += distance(figure) / furthest;
                    }
                }
            }
        }
        let most = distances.values().copied().fold(0.0, f64::max);
        let keys: Vec<&str> =
            distances.iter().filter(|(_, sum)| **sum >= most - 1e-9).map(|(key, _)| *key).collect();
        if most > 0.0 && keys.len() < self.rows.len() { keys } else { Vec::new() }
    }

    fn speaks_of(&self, other: &Self) -> bool {
        let named_apart = matches!((&self.key, &other.key), (Some(a), Some(b)) if a != b);
        self.keyed && other.keyed && !named_apart && other.rows.keys().any(|key| self.rows.contains_key(key))
    }

    /// Adds the columns and rows of another table. A column of the same name is the same one where no
    /// row says otherwise; else it is named after its step.
    fn join(&mut self, other: Self, result: &NamedResult) {
        self.sources += 1;
        if self.key.is_none() {
            self.key = other.key;
        }
        let places: Vec<usize> = other
            .columns
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let same = self.columns.iter().position(|column| column == name).filter(|mine| {
                    other.rows.iter().all(|(key, row)| match (self.cell(key, *mine), &row[at]) {
                        (Some(mine), Some(other)) => mine == other,
                        _ => true,
                    })
                });
                same.unwrap_or_else(|| {
                    let taken = self.columns.contains(name);
                    self.columns.push(if taken { format!("{name} ({})", result.step) } else { name.clone() });
                    self.columns.len() - 1
                })
            })
            .collect();
        for (key, cells) in other.rows {
            let row = self.rows.entry(key).or_default();
            row.resize(self.columns.len(), None);
            for (place, cell) in places.iter().zip(cells) {
                if cell.is_some() {
                    row[*place] = cell;
                }
            }
        }
        for row in self.rows.values_mut() {
            row.resize(self.columns.len(), None);
        }
    }

    fn cell(&self, key: &str, column: usize) -> Option<&Value> {
        self.rows.get(key)?.get(column)?.as_ref()
    }
}

/// The number a value stands for: itself, or text that is a number with or without `%`.
pub(super) fn figure(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_suffix('%').unwrap_or(text).trim_end();
            let numeric = digits.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
            if !numeric { None } else { digits.parse::<f64>().ok() }?
        }
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) }
}

/// The columns of a list of objects that could be its keys: text, different in every row.
fn candidates(items: &[Value]) -> Vec<&str> {
    let Some(first) = items.first().and_then(Value::as_object) else { return Vec::new() };
    let is_key = |name: &&str| {
        let mut seen = HashSet::new();
        items.iter().all(|item| match item.get(*name) {
            Some(cell @ Value::String(text)) => {
                !text.is_empty() && figure(cell).is_none() && seen.insert(text.as_str())
            }
            _ => false,
        })
    };
    first.keys().map(String::as_str).filter(is_key).collect()
}

/// Names of key columns, those that several results have first.
fn shared_names<'a>(results: &[&'a NamedResult]) -> Vec<&'a str> {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for result in results {
        for name in result.value.as_array().map(|items| candidates(items)).unwrap_or_default() {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts.sort_by(|_, a, _, b| b.cmp(a));
    counts.into_keys().collect()
}

fn key_column<'a>(items: &'a [Value], names: &[&str]) -> Option<&'a str> {
    let mut own = candidates(items);
    let rank = |name: &&str| names.iter().position(|known| known == name).unwrap_or(usize::MAX);
    own.sort_by_key(rank);
    own.into_iter().next()
}

fn keys_of<'a>(value: &'a Value, names: &[&str]) -> HashSet<&'a str> {
    match value {
        Value::Array(items) => match key_column(items, names) {
            Some(key) => items.iter().filter_map(|item| item.get(key)?.as_str()).collect(),
            None => HashSet::new(),
        },
        Value::Object(map) if is_nested(map) || is_figures(map) => map.keys().map(String::as_str).collect(),
        _ => HashSet::new(),
    }
}

/// Whether at least half of the smaller set is in the other.
fn overlap(a: &HashSet<&str>, b: &HashSet<&str>) -> bool {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let shared = small.iter().filter(|key| large.contains(*key)).count();
    shared > 0 && shared * 2 >= small.len()
}

fn is_nested(map: &Map<String, Value>) -> bool {
    !map.is_empty() && map.values().all(Value::is_object)
}

fn is_figures(map: &Map<String, Value>) -> bool {
    !map.is_empty() && map.values().all(|value| figure(value).is_some())
}

/// A name for the figures of an object: the tool without the verb it may begin with, else the step.
fn column_name(result: &NamedResult) -> String {
    let Some(tool) = &result.tool else { return format!("step {}", result.step) };
    let name = tool.as_str();
    let verbs = ["fetch_", "get_", "list_", "read_", "load_", "query_"];
    let bare = verbs.iter().find_map(|verb| name.strip_prefix(verb)).unwrap_or(name);
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}

fn from_list(items: &[Value], names: &[&str]) -> Option<Table> {
    if items.is_empty() || !items.iter().all(Value::is_object) {
        return None;
    }
    let key = key_column(items, names);
    let rows = items.iter().filter_map(Value::as_object).enumerate().map(|(at, row)| {
        let own = key.and_then(|key| row.get(key)?.as_str());
        (own.map_or_else(|| (at + 1).to_string(), str::to_owned), row)
    });
    Some(from_rows(key, key.is_some(), rows))
}

fn from_nested(map: &Map<String, Value>) -> Table {
    from_rows(None, true, map.iter().filter_map(|(key, row)| Some((key.clone(), row.as_object()?))))
}

fn from_figures(map: &Map<String, Value>, column: &str) -> Table {
    let row = |(key, value): (&String, &Value)| (key.clone(), vec![Some(value.clone())]);
    Table {
        key: None,
        keyed: true,
        columns: vec![column.to_owned()],
        rows: map.iter().map(row).collect(),
        sources: 1,
    }
}

fn from_rows<'a>(
    key: Option<&str>,
    keyed: bool,
    rows: impl Iterator<Item = (String, &'a Map<String, Value>)>,
) -> Table {
    let rows: Vec<_> = rows.collect();
    let mut columns: IndexMap<&str, ()> = IndexMap::new();
    for (_, row) in &rows {
        columns.extend(row.keys().map(|name| (name.as_str(), ())).filter(|(name, ())| Some(*name) != key));
    }
    let cells = |row: &Map<String, Value>| {
        columns.keys().map(|name| row.get(*name).filter(|cell| !cell.is_null()).cloned()).collect()
    };
    Table {
        key: key.map(str::to_owned),
        keyed,
        rows: rows.iter().map(|(key, row)| (key.clone(), cells(row))).collect(),
        columns: columns.into_keys().map(str::to_owned).collect(),
        sources: 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Table, figure, tables};
    use crate::llm::NamedResult;

    fn results(values: &[Value]) -> Vec<NamedResult> {
        let result = |(at, value): (usize, &Value)| NamedResult {
            step: (at as i64 + 1).into(),
            title: format!("Step {}", at + 1),
            tool: Some(format!("get_part{}", at + 1).as_str().into()),
            value: value.clone(),
        };
        values.iter().enumerate().map(result).collect()
    }

    fn read(values: &[Value]) -> (Vec<Table>, usize) {
        let results = results(values);
        let all: Vec<&NamedResult> = results.iter().collect();
        let (tables, others) = tables(&all);
        (tables, others.len())
    }

    #[test]
    fn lists_are_joined_on_the_key_they_share() {
        let (tables, others) = read(&[
            json!([{"color": "red", "name": "A", "n": 1}, {"color": "blue", "name": "B", "n": 2}]),
            json!([{"name": "B", "m": 20}, {"name": "C", "m": 30}]),
            json!("text"),
            json!([]),
        ]);
        assert_eq!(others, 2);
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].key.as_deref(), Some("name"));
        assert_eq!(tables[0].columns, ["color", "n", "m"]);
        assert_eq!(tables[0].rows["B"], [Some(json!("blue")), Some(json!(2)), Some(json!(20))]);
        assert_eq!(tables[0].rows["C"], [None, None, Some(json!(30))]);
    }

    #[test]
    fn objects_of_figures_are_tables_only_where_they_share_keys() {
        let (found, others) = read(&[
            json!({"Electronics": 142000, "Apparel": 38000}),
            json!({"Electronics": "3%", "Apparel": "18%"}),
            json!({"Apparel": {"stock": 4200, "weeks_cover": 11}}),
            json!({"count": 3, "total": 99}),
        ]);
        assert_eq!((found.len(), others), (1, 1));
        assert_eq!(found[0].columns, ["part1", "part2", "stock", "weeks_cover"]);
        assert_eq!(found[0].sources, 3);
        let (found, others) = read(&[json!({"count": 3, "total": 99})]);
        assert_eq!((found.len(), others), (0, 1));
    }

    #[test]
    fn columns_of_one_name_are_one_unless_a_row_says_otherwise() {
        let rows = |n: i64| json!([{"k": "a", "n": n}, {"k": "b", "n": 2}]);
        assert_eq!(read(&[rows(1), rows(1)]).0[0].columns, ["n"]);
        assert_eq!(read(&[rows(1), rows(7)]).0[0].columns, ["n", "n (2)"]);
    }

    #[test]
    fn tables_of_other_things_stay_apart_and_rows_without_keys_are_counted() {
        let (found, _) = read(&[
            json!([{"city": "Rome", "n": 1}]),
            json!([{"name": "Rome", "n": 1}]),
            json!([{"n": 1}, {"n": 2}]),
        ]);
        assert_eq!(found.len(), 3);
        assert!(!found[2].keyed);
        assert_eq!(found[2].rows.keys().collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn the_row_furthest_from_the_median_stands_out() {
        let table = |apparel: i64| {
            json!([
                {"k": "Electronics", "sales": 142, "returns": "3%"},
                {"k": "Home", "sales": 96, "returns": "4%"},
                {"k": "Sports", "sales": 72, "returns": "6 %"},
                {"k": "Apparel", "sales": 38, "returns": format!("{apparel}%")},
            ])
        };
        assert_eq!(read(&[table(18)]).0[0].standing_out(), ["Apparel"]);
        assert_eq!(read(&[table(5)]).0[0].standing_out(), ["Electronics"]);
        let alike = json!([{"k": "a", "n": 1}, {"k": "b", "n": 1}, {"k": "c", "n": 1}]);
        assert!(read(&[alike]).0[0].standing_out().is_empty());
        let two = json!([{"k": "a", "n": 1}, {"k": "b", "n": 9}]);
        assert!(read(&[two]).0[0].standing_out().is_empty());
    }

    #[test]
    fn figures_are_numbers_and_percentages_and_nothing_else() {
        for (value, want) in [
            (json!(3), Some(3.0)),
            (json!("18%"), Some(18.0)),
            (json!(" -2.5 % "), Some(-2.5)),
            (json!("inf"), None),
            (json!("nan%"), None),
            (json!("3 apples"), None),
            (json!(true), None),
            (json!(null), None),
        ] {
            assert_eq!(figure(&value), want, "{value}");
        }
    }
}
