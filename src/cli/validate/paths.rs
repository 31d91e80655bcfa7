//! Which texts `wf validate` is to check: files, folders, patterns and stdin, each once.
//!
//! Main function: [`find`]. Knows the names of files; reads none of them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::cli::Trouble;
use crate::cli::open::{WORKFLOWS, is_workflow};

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Stdin,
    File(PathBuf),
}

/// The texts that the paths name, in the order given; those of a folder or a pattern sorted.
///
/// # Errors
/// A path that names no text at all (wrong usage), and a folder that cannot be read.
pub fn find(paths: &[String]) -> Result<Vec<Place>, Trouble> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for name in paths {
        for place in one(name, paths.len() == 1)? {
            // The same file may be named in several ways.
            let same = match &place {
                Place::Stdin => place.clone(),
                Place::File(path) => Place::File(path.canonicalize().unwrap_or_else(|_| path.clone())),
            };
            if seen.insert(same) {
                found.push(place);
            }
        }
    }
    Ok(found)
}

fn one(name: &str, only: bool) -> Result<Vec<Place>, Trouble> {
    let path = Path::new(name);
    if name == "-" {
        return Ok(vec![Place::Stdin]);
    }
    let fault = |folder: &Path| {
        let folder = folder.display().to_string();
        move |error| Trouble::unable(format!("cannot read the folder `{folder}`: {error}"))
    };
    let mut files = Vec::new();
    if path.is_dir() {
        walk(path, &is_workflow, &mut files).map_err(fault(path))?;
        if files.is_empty() {
            return Err(nothing(&format!("there is no .yaml or .yml file in `{name}`")));
        }
    } else if name.contains(['*', '?']) && !path.exists() {
        let (folder, pattern) = split(path);
        let named = pattern.last().is_some_and(|last| last.contains('.'));
        if folder.is_dir() {
            let fits = |file: &Path| {
                let rest = file.strip_prefix(&folder).unwrap_or(file);
                (named || is_workflow(file)) && matches(&pattern, &parts(rest))
            };
            walk(&folder, &fits, &mut files).map_err(fault(&folder))?;
        }
        if files.is_empty() {
            return Err(nothing(&format!("no file fits `{name}`")));
        }
    } else if only && name == WORKFLOWS && !path.exists() {
        // It was not asked for: that it is not there is not a file that cannot be read.
        return Err(nothing(&format!("there is no folder `{WORKFLOWS}` here")));
    } else {
        files.push(path.to_owned());
    }
    files.sort();
    Ok(files.into_iter().map(Place::File).collect())
}

fn nothing(why: &str) -> Trouble {
    Trouble::usage(format!("nothing to validate: {why}"))
}

/// All files below a folder that fit. Hidden folders are left out, and links to folders, which may go in
/// circles.
fn walk(folder: &Path, fits: &dyn Fn(&Path) -> bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Files of the current folder are shown without `./`, as they are named.
        let path = if folder == Path::new("") { entry.file_name().into() } else { entry.path() };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') {
                walk(&path, fits, files)?;
            }
        } else if fits(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    Ok(())
}

/// The folder a pattern begins in, and the parts of the pattern below it.
fn split(path: &Path) -> (PathBuf, Vec<String>) {
    let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?']);
    let folder: PathBuf = path.components().take_while(is_plain).collect();
    let rest: PathBuf = path.components().skip_while(is_plain).collect();
    (if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }, parts(&rest))
}

fn parts(path: &Path) -> Vec<String> {
    let normal = |part: Component<'_>| match part {
        Component::CurDir => None,
        part => Some(part.as_os_str().to_string_lossy().into_owned()),
    };
    path.components().filter_map(normal).collect()
}

/// Whether the parts of a path fit those of a pattern: `**` stands for any number of folders.
fn matches(pattern: &[String], path: &[String]) -> bool {
    let mut table = vec![false; path.len() + 1];
    table[0] = true;
    for part in pattern {
        if part == "**" {
            for at in 1..table.len() {
                table[at] |= table[at - 1];
            }
        } else {
            for at in (1..table.len()).rev() {
                table[at] = table[at - 1] && fits(part, &path[at - 1]);
            }
            table[0] = false;
        }
    }
    table[path.len()]
}

/// Whether a name fits a part of a pattern: `*` stands for any characters, `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut table = vec![false; name.len() + 1];
    table[0] = true;
    for sign in pattern.chars() {
        if sign == '*' {
            for at in 1..table.len() {
                table[at] |= table[at - 1];
            }
        } else {
            for at in (1..table.len()).rev() {
                table[at] = table[at - 1] && (sign == '?' || sign == name[at - 1]);
            }
            table[0] = false;
        }
    }
    table[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths_as_in_a_shell() {
        let fits = |pattern: &str, path: &str| matches(&parts(Path::new(pattern)), &parts(Path::new(path)));
        for (pattern, path, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yml", false),
            ("*.yaml", "b/a.yaml", false),
            ("**/*.yaml", "a.yaml", true),
            ("**/*.yaml", "b/c/a.yaml", true),
            ("b/**", "b/c/a.yaml", true),
            ("b/**/a.yaml", "b/a.yaml", true),
            ("b/**/a.yaml", "c/a.yaml", false),
            ("a?c*.y*l", "abcdef.yaml", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("./*.yaml", "a.yaml", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} and {path}");
        }
        assert_eq!(split(Path::new("w/**/*.yaml")).0, Path::new("w"));
        assert_eq!(split(Path::new("*.yaml")).0, Path::new("."));
    }
}
