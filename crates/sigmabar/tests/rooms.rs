//! Rooms use only rooms before them, in every crate, in the order that CONTRIBUTING.md declares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Uses of a later room that are known and to be removed: crate, room, used room.
const EXEMPT: [(&str, &str, &str); 0] = [];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates with their rooms in order, from lines such as "- `sigmabar-linalg`: error · matrix".
fn declared() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let line = |line: &str| {
        let (name, rooms) = line.strip_prefix("- `")?.split_once("`: ")?;
        let rooms = rooms.split(" · ").map(|room| room.trim().to_owned()).collect();
        Path::new(&root().join("crates").join(name)).is_dir().then(|| (name.to_owned(), rooms))
    };
    text.lines().filter_map(line).collect()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code without comments and without tests at the end of a file, which may use what they like.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The first names after every occurrence of `before`: one, or those of a list in braces.
fn names_after(text: &str, before: &str) -> Vec<String> {
    let first = |part: &str| part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for (place, _) in text.match_indices(before) {
        let rest = &text[place + before.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let (mut depth, mut start) = (0, 0);
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        ',' | '}' if depth == 0 => {
                            names.push(first(&list[start..at]));
                            start = at + 1;
                            if c == '}' {
                                break;
                            }
                        }
                        '}' => depth -= 1,
                        _ => {}
                    }
                }
            }
            None => names.push(first(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Which room the names at the root of a crate come from.
fn root_names(lib: &str, rooms: &[String]) -> BTreeMap<String, String> {
    let mut from = BTreeMap::new();
    for room in rooms {
        from.extend(names_after(lib, &format!("use {room}::")).into_iter().map(|name| (name, room.clone())));
    }
    from
}

/// Each use of another room: the room, the room used, and the file.
fn uses(source: &Path, rooms: &[String]) -> BTreeSet<(String, String, String)> {
    let at_root = root_names(&code(&source.join("lib.rs")), rooms);
    let mut found = BTreeSet::new();
    for path in sources(source) {
        let inside = path.strip_prefix(source).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        if matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        for name in names_after(&code(&path), "crate::") {
            let used = if rooms.contains(&name) { Some(&name) } else { at_root.get(&name) };
            if let Some(used) = used.filter(|used| **used != room) {
                found.insert((room.clone(), used.clone(), inside.display().to_string()));
            }
        }
    }
    found
}

/// Uses of a room that does not come before: the room, the room used, and the file.
fn backward(source: &Path, rooms: &[String]) -> Vec<(String, String, String)> {
    let position = |room: &str| rooms.iter().position(|known| known == room);
    uses(source, rooms).into_iter().filter(|(room, used, _)| position(room) <= position(used)).collect()
}

fn source_of(name: &str) -> PathBuf {
    root().join("crates").join(name).join("src")
}

#[test]
fn rooms_use_only_rooms_before_them() {
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<_> = EXEMPT.into_iter().collect();
    for (name, rooms) in &declared() {
        for (room, used, file) in backward(&source_of(name), rooms) {
            match EXEMPT.iter().find(|exempt| **exempt == (name.as_str(), room.as_str(), used.as_str())) {
                Some(exempt) => drop(idle.remove(exempt)),
                None => wrong.push(format!("{name}: {room} uses {used}, which comes after it ({file})")),
            }
        }
    }
    wrong.extend(idle.iter().map(|(name, room, used)| format!("{name}: {room} no longer uses {used}: strike the exemption")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_of_every_crate_is_declared() {
    let crates = declared();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let rooms = crates.iter().find(|(known, _)| *known == name).map(|(_, rooms)| rooms);
        let rooms = rooms.unwrap_or_else(|| panic!("CONTRIBUTING.md declares no order for {name}"));
        let lib = code(&source_of(&name).join("lib.rs"));
        let module = |line: &str| Some(line.trim().strip_suffix(';')?.split_once("mod ")?.1.to_owned());
        let found: BTreeSet<String> = lib.lines().filter_map(module).collect();
        assert_eq!(found, rooms.iter().cloned().collect(), "the rooms of {name}");
    }
}

/// What everybody needs stands at the root of the core; the rest is found in its room.
#[test]
fn few_names_stand_at_the_root() {
    let (_, rooms) = declared().into_iter().find(|(name, _)| name == "sigmabar").unwrap();
    let names = root_names(&code(&source_of("sigmabar").join("lib.rs")), &rooms);
    assert!(names.len() <= 30, "{} names at the root: {:?}", names.len(), names.keys());
}

/// One row for each crate, a dot for each room, an arc from a room back to each that it uses.
fn drawing() -> String {
    const STEP: f64 = 34.0;
    const LEFT: f64 = 150.0;
    let crates = declared();
    let widest = crates.iter().map(|(_, rooms)| rooms.len()).max().unwrap_or(0) as f64;
    let (mut body, mut y) = (String::new(), 0.0);
    for (name, rooms) in &crates {
        let place = |room: &str| LEFT + STEP * rooms.iter().position(|known| known == room).unwrap() as f64;
        let pairs: BTreeSet<(String, String)> = uses(&source_of(name), rooms).into_iter().map(|(room, used, _)| (room, used)).collect();
        let reach = pairs.iter().map(|(room, used)| (place(room) - place(used)).abs()).fold(0.0, f64::max);
        y += 24.0 + reach / 6.0;
        let _ = write!(body, "<text class=\"crate\" x=\"8\" y=\"{}\">{name}</text>", y + 4.0);
        for (room, used) in &pairs {
            let (from, to) = (place(room), place(used));
            let (half, height) = ((from - to) / 2.0, (from - to).abs() / 6.0);
            let _ = write!(body, "<path d=\"M{from} {y} a{half} {height} 0 0 0 {} 0\"/>", to - from);
        }
        for room in rooms {
            let x = place(room);
            let _ = write!(body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>");
            let _ = write!(body, "<text transform=\"translate({x} {}) rotate(35)\">{room}</text>", y + 14.0);
        }
        y += 74.0;
    }
    let width = LEFT + STEP * widest + 60.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {y}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#555\">\
         <style>path{{fill:none;stroke:#00968880}}circle{{fill:#009688}}.crate{{font-size:13px;font-weight:bold}}@media(prefers-color-scheme:dark){{text{{fill:#ccc}}}}</style>\
         {body}</svg>\n"
    )
}

/// `UPDATE_ROOMS=1` draws it anew.
#[test]
fn the_picture_of_the_rooms_is_that_of_the_source() {
    let path = root().join("docs/inside/rooms.svg");
    if std::env::var_os("UPDATE_ROOMS").is_some() {
        fs::write(&path, drawing()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == drawing(),
        "draw it anew: UPDATE_ROOMS=1 cargo nextest run --workspace rooms::"
    );
}

#[test]
fn an_order_turned_round_is_refused() {
    for (name, rooms) in declared() {
        let turned: Vec<String> = rooms.into_iter().rev().collect();
        assert!(!backward(&source_of(&name), &turned).is_empty(), "{name}");
    }
}

#[test]
fn the_reader_sees_what_it_must() {
    let text = "use crate::{Error, space::{Space, Value}, trial};\nlet x = crate::store::open();\npub(in crate::a) fn f() {}";
    assert_eq!(names_after(text, "crate::"), ["Error", "space", "trial", "store", "a"]);
    let rooms = ["error".to_owned(), "space".to_owned()];
    let names = root_names("pub use error::{Error, Result};\npub(crate) use space::Space;", &rooms);
    assert_eq!(names["Result"], "error");
    assert_eq!(names["Space"], "space");
}

/// Tests are built into one program a crate, which names its files: one that it does not name would never run.
#[test]
fn no_file_of_tests_is_forgotten() {
    let named =
        |tests: &Path, file: &str| fs::read_to_string(tests.join("all.rs")).unwrap().lines().any(|line| line == format!("mod {file};"));
    let mut seen = 0;
    let members = fs::read_dir(root().join("crates")).unwrap().map(|member| member.unwrap().path().join("tests"));
    for tests in members.filter(|tests| tests.join("all.rs").is_file()) {
        for path in sources(&tests).into_iter().filter(|path| path.parent() == Some(&tests)) {
            let file = path.file_stem().unwrap().to_str().unwrap();
            assert!(file == "all" || named(&tests, file), "{} is not named in all.rs beside it", path.display());
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen} files seen");
}
