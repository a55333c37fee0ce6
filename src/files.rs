//! Output files that appear under their name only when they are complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that is being written beside its final place. Dropped before [`NewFile::finish`], it
/// leaves nothing behind. Devices and pipes are written directly.
pub struct NewFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    out: Option<BufWriter<File>>,
}

impl NewFile {
    /// Starts to write `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        let temporary = if special { None } else { Some(beside(path)?) };
        let out = match &temporary {
            Some(temporary) => File::create(temporary),
            None => File::options().write(true).open(path),
        };
        let out = out.with_context(|| {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            format!(
                "cannot write {}: is {} a folder that you may write to?",
                path.display(),
                folder.display()
            )
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            out: Some(BufWriter::new(out)),
        })
    }

    /// Where it is being written, for those who want to open it by name.
    pub fn working_path(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.path)
    }

    /// Completes the file and moves it to its place.
    pub fn finish(mut self) -> Result<()> {
        if let Some(mut out) = self.out.take() {
            out.flush().with_context(|| self.cannot())?;
        }
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path).with_context(|| self.cannot())?;
            self.temporary = None;
        }
        Ok(())
    }

    fn cannot(&self) -> String {
        format!("cannot write {}", self.path.display())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // It was of no use to anybody; nothing to be done if it stays.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// `.NAME.partial` in the same folder.
fn beside(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().filter(|_| !path.is_dir());
    let name = name.with_context(|| {
        format!(
            "cannot write {}: this is a folder, the name of a file is needed",
            path.display()
        )
    })?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(".partial");
    Ok(path.with_file_name(temporary))
}
