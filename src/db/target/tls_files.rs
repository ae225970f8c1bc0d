//! The files that TLS needs: an authority to trust, a certificate of our own with its key.
//!
//! They are checked before a connection is tried, because a driver says neither which of them is missing nor which setting
//! names it.

use std::path::PathBuf;

use super::Env;

/// Where they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub root_cert: Option<String>,
    pub cert: Option<String>,
    pub key: Option<String>,
}

impl Files {
    /// Fills in what libpq takes where nothing is named: the files of `~/.postgresql` that are there.
    pub(super) fn or_usual(&mut self, env: Env<'_>) {
        let Some(folder) = env("HOME").map(|home| PathBuf::from(home).join(".postgresql")) else { return };
        let usual = |name: &str| {
            let file = folder.join(name);
            file.is_file().then(|| file.display().to_string())
        };
        if self.root_cert.is_none() {
            self.root_cert = usual("root.crt");
        }
        if let (None, None, Some(cert), Some(key)) =
            (&self.cert, &self.key, usual("postgresql.crt"), usual("postgresql.key"))
        {
            (self.cert, self.key) = (Some(cert), Some(key));
        }
    }

    /// Looks at the authority's file.
    ///
    /// # Errors
    /// A sentence that names the setting and the file.
    pub(super) fn check_root(&self) -> Result<(), String> {
        holds("sslrootcert", self.root_cert.as_deref(), "-----BEGIN CERTIFICATE-----", "no certificate")
    }

    /// Looks at the files of our own certificate.
    ///
    /// # Errors
    /// As [`Files::check_root`].
    pub(super) fn check_own(&self) -> Result<(), String> {
        match (&self.cert, &self.key) {
            (Some(_), None) => return Err("sslcert names a certificate, and sslkey must name its key".into()),
            (None, Some(_)) => return Err("sslkey names a key, and sslcert must name its certificate".into()),
            _ => {}
        }
        holds("sslcert", self.cert.as_deref(), "-----BEGIN CERTIFICATE-----", "no certificate")?;
        let wanted = "PRIVATE KEY-----";
        holds("sslkey", self.key.as_deref(), wanted, "no private key")?;
        let sealed = self.key.as_deref().filter(|key| read(key).is_ok_and(|text| text.contains("ENCRYPTED")));
        match sealed {
            Some(key) => Err(format!("sslkey: {key} is sealed with a passphrase, which cannot be asked for")),
            None => Ok(()),
        }
    }
}

fn read(file: &str) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(file)?).into_owned())
}

fn holds(setting: &str, file: Option<&str>, wanted: &str, lacks: &str) -> Result<(), String> {
    // The driver takes the certificate itself for the name of a file, too.
    let Some(file) = file.filter(|file| !file.trim_start().starts_with("-----BEGIN")) else { return Ok(()) };
    let text = read(file).map_err(|error| format!("{setting}: cannot read {file}: {error}"))?;
    if text.contains(wanted) { Ok(()) } else { Err(format!("{setting}: {file} holds {lacks} in PEM form")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_usual_folder_is_taken_where_nothing_is_named() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".postgresql");
        std::fs::create_dir(&folder).unwrap();
        let env = |name: &str| (name == "HOME").then(|| home.path().display().to_string());
        std::fs::write(folder.join("root.crt"), "x").unwrap();
        std::fs::write(folder.join("postgresql.crt"), "x").unwrap();
        let found = || {
            let mut files = Files::default();
            files.or_usual(&env);
            files
        };
        assert!(found().root_cert.unwrap().ends_with("/.postgresql/root.crt"));
        assert!(found().cert.is_none(), "a certificate without its key is of no use");
        std::fs::write(folder.join("postgresql.key"), "x").unwrap();
        assert!(found().key.unwrap().ends_with("/postgresql.key") && found().cert.is_some());
        let mut named = Files { root_cert: Some("ours.pem".into()), ..Files::default() };
        named.or_usual(&env);
        assert_eq!(named.root_cert.as_deref(), Some("ours.pem"));
    }

    #[test]
    fn a_key_behind_a_passphrase_is_said_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            Some(file.display().to_string())
        };
        let cert = at("crt", "-----BEGIN CERTIFICATE-----\n");
        let key = at("key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
        let error = Files { root_cert: None, cert, key }.check_own().unwrap_err();
        assert!(error.starts_with("sslkey: ") && error.contains("passphrase"), "{error}");
    }
}
