//! A list that keeps its selection by id, its window by rows, and an optional filter.

use crate::rules::filter::{Filter, FilterMode};

/// The view of one list. `K` names a row for as long as it exists.
#[derive(Debug, Clone)]
pub struct ListView<K> {
    pub selected: Option<K>,
    /// The first row of the window, as an index into `shown`.
    pub offset: usize,
    /// Indices of the rows that pass the filter.
    pub shown: Vec<usize>,
    /// How many rows there are without the filter.
    pub total: usize,
    pub filter: FilterField,
}

/// The text of a filter and what became of it.
#[derive(Debug, Clone, Default)]
pub struct FilterField {
    pub text: String,
    pub mode: FilterMode,
    /// Keys go into the text.
    pub typing: bool,
    /// Where the text is wrong; the rows are then those of the last good one.
    pub error: Option<String>,
    last_good: String,
}

impl FilterField {
    /// Whether it shows: being typed, or in force.
    pub fn is_active(&self) -> bool {
        self.typing || !self.text.is_empty()
    }

    /// The compiled filter; the last good one while the text is wrong.
    fn compile(&mut self) -> Option<Filter> {
        match Filter::new(&self.text, self.mode) {
            Ok(filter) => {
                self.error = None;
                self.last_good.clone_from(&self.text);
                Some(filter)
            }
            Err(error) => {
                self.error = Some(error.fault);
                Filter::new(&self.last_good, self.mode).ok()
            }
        }
    }

    /// Removes the text; the mode stays.
    pub fn clear(&mut self) {
        *self = Self {
            mode: self.mode,
            ..Self::default()
        };
    }
}

impl<K> Default for ListView<K> {
    fn default() -> Self {
        Self {
            selected: None,
            offset: 0,
            shown: Vec::new(),
            total: 0,
            filter: FilterField::default(),
        }
    }
}

impl<K: Clone + PartialEq> ListView<K> {
    /// Takes new rows in: filters them, and keeps the selection, or moves it to its nearest
    /// neighbour when its row is gone.
    pub fn refresh<R>(&mut self, rows: &[R], key: impl Fn(&R) -> K, text: impl Fn(&R) -> String) {
        let before = self.position(rows, &key);
        self.total = rows.len();
        self.shown.clear();
        match self.filter.compile() {
            Some(filter) if !self.filter.last_good.is_empty() => {
                let hits = rows
                    .iter()
                    .enumerate()
                    .filter(|(_, row)| filter.matches(&text(row)));
                self.shown.extend(hits.map(|(index, _)| index));
            }
            _ => self.shown.extend(0..rows.len()),
        }
        let known = self
            .selected
            .as_ref()
            .is_some_and(|s| self.shown.iter().any(|i| key(&rows[*i]) == *s));
        if !known {
            let near = before.unwrap_or(0).min(self.shown.len().saturating_sub(1));
            self.selected = self.shown.get(near).map(|i| key(&rows[*i]));
        }
    }

    /// Where the selection stands among the shown rows, as they were before the last change.
    fn position<R>(&self, rows: &[R], key: &impl Fn(&R) -> K) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.shown
            .iter()
            .position(|i| rows.get(*i).is_some_and(|row| key(row) == *selected))
            .or(Some(self.offset))
    }

    /// The index of the selected row among the shown ones.
    pub fn selected_index<R>(&self, rows: &[R], key: impl Fn(&R) -> K) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.shown
            .iter()
            .position(|i| rows.get(*i).is_some_and(|row| key(row) == *selected))
    }

    /// Moves the selection by `step` rows and the window after it.
    pub fn step<R>(&mut self, rows: &[R], key: impl Fn(&R) -> K, step: isize, height: usize) {
        let now = self.selected_index(rows, &key).unwrap_or(0);
        let last = self.shown.len().saturating_sub(1);
        self.select_index(rows, key, now.saturating_add_signed(step).min(last), height);
    }

    /// Selects a shown row by its index and brings it into the window.
    pub fn select_index<R>(
        &mut self,
        rows: &[R],
        key: impl Fn(&R) -> K,
        index: usize,
        height: usize,
    ) {
        if let Some(row) = self.shown.get(index).and_then(|i| rows.get(*i)) {
            self.selected = Some(key(row));
        }
        self.scroll_to(index, height);
    }

    /// Moves the window so that the row at `index` is in it and no room is wasted.
    pub fn scroll_to(&mut self, index: usize, height: usize) {
        let height = height.max(1);
        if index < self.offset {
            self.offset = index;
        } else if index >= self.offset + height {
            self.offset = index + 1 - height;
        }
        self.offset = self.offset.min(self.shown.len().saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(rows: &[&str]) -> ListView<String> {
        let mut view = ListView::default();
        refresh(&mut view, rows);
        view
    }

    fn refresh(view: &mut ListView<String>, rows: &[&str]) {
        view.refresh(rows, |r| (*r).to_owned(), |r| (*r).to_owned());
    }

    fn key(row: &&str) -> String {
        (*row).to_owned()
    }

    #[test]
    fn the_selection_stays_with_its_row_and_not_with_its_place() {
        let mut v = view(&["a", "b", "c"]);
        v.step(&["a", "b", "c"], key, 1, 10);
        refresh(&mut v, &["new", "a", "b", "c"]);
        assert_eq!(v.selected.as_deref(), Some("b"));
        assert_eq!(v.selected_index(&["new", "a", "b", "c"], key), Some(2));
        refresh(&mut v, &["new", "a", "c"]);
        assert!(v.selected.is_some(), "a neighbour takes over");
    }

    #[test]
    fn a_wrong_filter_keeps_the_last_good_rows_and_says_where_it_is_wrong() {
        let rows = ["apple", "pear", "plum"];
        let mut v = view(&rows);
        v.filter.text = "^p".into();
        refresh(&mut v, &rows);
        assert_eq!(v.shown, [1, 2]);
        v.filter.text = "^p(".into();
        refresh(&mut v, &rows);
        assert_eq!(v.shown, [1, 2]);
        assert!(v.filter.error.as_ref().unwrap().contains("column"));
        v.filter.clear();
        refresh(&mut v, &rows);
        assert_eq!(v.shown.len(), 3);
    }

    #[test]
    fn the_selection_survives_filtering_when_it_matches() {
        let rows = ["apple", "pear", "plum"];
        let mut v = view(&rows);
        v.step(&rows, key, 2, 10);
        v.filter.text = "p".into();
        refresh(&mut v, &rows);
        v.filter.text = "!apple".into();
        refresh(&mut v, &rows);
        assert_eq!((v.selected.as_deref(), v.shown.len()), (Some("plum"), 2));
    }

    proptest::proptest! {
        #[test]
        fn the_selected_row_is_always_in_the_window(
            steps in proptest::collection::vec((-9isize..9, 0usize..30, 1usize..8), 1..60)
        ) {
            let mut v: ListView<usize> = ListView::default();
            let mut rows: Vec<usize> = (0..20).collect();
            v.refresh(&rows, |r| *r, |r| r.to_string());
            for (step, change, height) in steps {
                if change < rows.len() && rows.len() > 1 {
                    rows.remove(change);
                } else {
                    rows.insert(0, 100 + rows.iter().max().unwrap_or(&0));
                }
                v.refresh(&rows, |r| *r, |r| r.to_string());
                v.step(&rows, |r| *r, step, height);
                let index = v.selected_index(&rows, |r| *r).unwrap();
                proptest::prop_assert!(index >= v.offset && index < v.offset + height);
            }
        }
    }
}
