//! What a command has to offer to whoever gave it a table that it cannot take: no advice names a flag that the command lacks.

/// The options of a command that help with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {
    /// None: the table is to be mended.
    None,
    /// Those of `predict`: `--drop-missing`, which takes `--inputs` with it, and `--out`.
    Predict,
    /// Those of `fit`: `--drop-missing`, `--ignore`, `--categorical` and `--memory`. The last column is the target.
    Fit,
}

impl Options {
    /// What to do where nothing stands in a column that holds such things.
    pub(super) fn fill(self, what: &str, column: &str, is_target: bool) -> String {
        match self {
            Self::Fit if is_target => "this is the target: put a number there, or take the row out (--drop-missing)".to_owned(),
            Self::Fit => format!("put {what} there, take the row out (--drop-missing), or leave the column out (--ignore {column})"),
            Self::Predict => format!(
                "put {what} there, or pass over such rows: --drop-missing --inputs, where the inputs beside each answer show which rows are left"
            ),
            Self::None => format!("put {what} there, or take the row out"),
        }
    }

    /// What to do about more rows than fit into memory.
    pub(super) fn make_room(self) -> &'static str {
        match self {
            Self::Fit => "raise --memory if the machine has more, or take fewer rows or columns",
            Self::Predict => "write the answers to a file (--out FILE), which takes any number of rows",
            Self::None => "take fewer rows or columns",
        }
    }
}
