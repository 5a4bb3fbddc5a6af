//! Colours by what they are for, so that one drawing serves a light page, a dark page and paper.

/// The Okabe–Ito palette, the strongest contrasts first: told apart with every common kind of colour vision.
pub const OKABE_ITO: [(u8, u8, u8); 7] =
    [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (120, 120, 120)];

/// What a stroke or a filling is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Words and frames.
    Text,
    /// Words of less weight: ticks, notes.
    Muted,
    /// Grid lines.
    Grid,
    /// The background.
    Paper,
    /// One of the series of a picture; more than there are colours begin again.
    Series(usize),
    /// A colour that stands for a number: the same on every page.
    Fixed(u8, u8, u8),
}

/// Where the drawing is going to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// In a page that sets the colours as CSS variables.
    Page,
    /// By itself: a picture file.
    File,
}

impl Ink {
    /// The colour as an SVG attribute value.
    #[must_use]
    pub fn value(self, medium: Medium) -> String {
        let (variable, (r, g, b)) = match self {
            Self::Text => ("--ink".to_owned(), (34, 34, 34)),
            Self::Muted => ("--muted".to_owned(), (95, 95, 95)),
            Self::Grid => ("--grid".to_owned(), (226, 226, 226)),
            Self::Paper => ("--paper".to_owned(), (255, 255, 255)),
            Self::Series(i) => (format!("--series-{}", i % OKABE_ITO.len()), OKABE_ITO[i % OKABE_ITO.len()]),
            Self::Fixed(r, g, b) => return format!("#{r:02x}{g:02x}{b:02x}"),
        };
        match medium {
            Medium::Page => format!("var({variable},#{r:02x}{g:02x}{b:02x})"),
            Medium::File => format!("#{r:02x}{g:02x}{b:02x}"),
        }
    }
}

/// Nine stops of the cividis map, made to look the same with and without red–green vision.
const CIVIDIS: [(u8, u8, u8); 9] = [
    (0, 34, 78),
    (33, 59, 110),
    (76, 85, 108),
    (108, 110, 114),
    (127, 124, 117),
    (150, 143, 115),
    (181, 170, 102),
    (217, 200, 76),
    (254, 232, 56),
];

/// The colour of a share between 0 (dark) and 1 (bright).
#[must_use]
pub fn heat(share: f64) -> Ink {
    let place = share.clamp(0.0, 1.0) * (CIVIDIS.len() - 1) as f64;
    let stop = (place as usize).min(CIVIDIS.len() - 2);
    let (from, to, part) = (CIVIDIS[stop], CIVIDIS[stop + 1], place - stop as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    Ink::Fixed(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// Ink that can be read on a [`heat`] colour.
#[must_use]
pub fn on_heat(share: f64) -> Ink {
    if share > 0.55 { Ink::Fixed(20, 20, 20) } else { Ink::Fixed(250, 250, 250) }
}
