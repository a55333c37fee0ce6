//! `--demo NAME` and `--replay FILE`, wherever they stand among the options, choose whose options the others are.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{Args, Command};

use super::Arguments;

/// `sim ... --demo NAME ...` as `sim NAME ... ...`, which clap tells apart by name.
///
/// # Errors
/// No demo has this name, or `sim` is told to do nothing or two things.
pub fn demo_first(mut words: Vec<OsString>) -> Result<Vec<OsString>, clap::Error> {
    if words.get(1).map(OsString::as_os_str) != Some(OsStr::new("sim")) {
        return Ok(words);
    }
    let demo = take(&mut words, "--demo");
    let replay = take(&mut words, "--replay");
    let help = ["-h", "--help"];
    let asks = |word: &OsString| help.iter().any(|help| word.as_os_str() == OsStr::new(help));
    match (demo, replay) {
        (Some(_), Some(_)) => Err(wrong(
            ErrorKind::ArgumentConflict,
            "the argument '--demo <DEMO>' cannot be used with '--replay <FILE>'",
        )),
        (Some(name), None) => {
            let names = demos();
            if !names.iter().any(|known| name == known.as_str()) {
                return Err(wrong(
                    ErrorKind::InvalidValue,
                    &format!(
                        "invalid value '{}' for '--demo <DEMO>'\n  [possible values: {}]",
                        name.display(),
                        names.join(", ")
                    ),
                ));
            }
            words.insert(2, name);
            Ok(words)
        }
        (None, Some(file)) => {
            words.splice(2..2, ["replay".into(), file]);
            Ok(words)
        }
        (None, None) if words.iter().any(asks) => Ok(words),
        (None, None) => Err(wrong(
            ErrorKind::MissingRequiredArgument,
            "one of '--demo <DEMO>' and '--replay <FILE>' is needed",
        )),
    }
}

/// Takes an option and its value out. One without a value stays where it is, and clap says so.
fn take(words: &mut Vec<OsString>, option: &str) -> Option<OsString> {
    let joined = format!("{option}=");
    for at in 2..words.len() {
        if let Some(value) = words[at].to_str().and_then(|w| w.strip_prefix(&joined)) {
            let value = value.into();
            words.remove(at);
            return Some(value);
        }
        if words[at] == option && at + 1 < words.len() {
            words.remove(at);
            return Some(words.remove(at));
        }
    }
    None
}

fn command() -> Command {
    Arguments::augment_args(Command::new("sim"))
}

fn demos() -> Vec<String> {
    let command = command();
    let seen = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    seen.map(|sub| sub.get_name().to_owned()).collect()
}

fn wrong(kind: ErrorKind, text: &str) -> clap::Error {
    command().error(kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let words = demo_first(words).map_err(|error| error.to_string())?;
        let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn a_demo_may_stand_anywhere() {
        for line in [
            "tributary sim --demo rw --loss 0.1",
            "tributary sim --loss 0.1 --demo rw",
            "tributary sim --loss 0.1 --demo=rw",
        ] {
            assert_eq!(told(line).unwrap(), "tributary sim rw --loss 0.1");
        }
        let replay = told("tributary sim --json --replay file").unwrap();
        assert_eq!(replay, "tributary sim replay file --json");
        let other = "tributary perf send-lat --demo rw";
        assert_eq!(told(other).unwrap(), other);
    }

    #[test]
    fn what_is_no_demo_is_refused_with_what_is() {
        let error = told("tributary sim --demo replay").unwrap_err();
        assert!(error.contains("possible values: rw, allreduce"), "{error}");
        for line in [
            "tributary sim",
            "tributary sim --json",
            "tributary sim --demo",
        ] {
            assert!(told(line).is_err(), "{line}");
        }
        let error = told("tributary sim --demo rw --replay f").unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
    }
}
