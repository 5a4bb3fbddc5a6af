//! Where something stands in a JSON text that is known to be valid.

/// The byte of a line and column as serde_json counts them: both from 1, columns in bytes.
pub(super) fn offset_of_line(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    start + column.saturating_sub(1)
}

/// The byte at which the value of a path begins.
pub(super) fn offset_of_path(text: &str, path: &[String]) -> Option<usize> {
    let mut scanner = Scanner { bytes: text.as_bytes(), position: 0 };
    for step in path {
        scanner.enter(step)?;
    }
    scanner.skip_blanks();
    Some(scanner.position)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.position += 1;
        }
    }

    /// Goes to the value of a key of the object, or to an item of the array, that begins here.
    fn enter(&mut self, step: &str) -> Option<()> {
        self.skip_blanks();
        let is_object = match self.peek()? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        self.position += 1;
        for index in 0.. {
            self.skip_blanks();
            let found = if is_object {
                let start = self.position;
                self.skip_string()?;
                let key: String = serde_json::from_slice(&self.bytes[start..self.position]).ok()?;
                self.skip_blanks();
                self.position += 1;
                key == step
            } else {
                step.parse::<usize>().ok()? == index
            };
            if found {
                return Some(());
            }
            self.skip_value()?;
            self.skip_blanks();
            if self.peek()? != b',' {
                return None;
            }
            self.position += 1;
        }
        None
    }

    fn skip_string(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.position += 1;
        while self.peek()? != b'"' {
            self.position += if self.peek()? == b'\\' { 2 } else { 1 };
        }
        self.position += 1;
        Some(())
    }

    /// To the comma or bracket after a value.
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.peek()? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => return Some(()),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.position += 1;
        }
    }
}
