//! By what a job is known across its deaths.

use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::domain::job::JobId;

/// Characters of a lineage that are kept as they are; a longer one (a whole payload) is kept as its hash.
const WHOLE: usize = 64;

/// The form in which a lineage is kept and compared: what looks like an id as it is, all else as a hash of 64 hexadecimal
/// digits. A payload may hold what nobody should read in a ledger, however short it is.
pub fn stored_form(lineage: &str) -> String {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    if lineage.len() <= WHOLE && lineage.bytes().all(is_id) {
        return lineage.to_owned();
    }
    Sha256::digest(lineage.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id under which a run puts a job back, where the layout gives replayed jobs new ones: a UUID that looks random and
/// is the same however often the run comes to the job. The destination can so tell a second delivery from a second job,
/// and the ledger knows a job that dies again under its new id.
pub fn successor(run: &str, job: &JobId) -> String {
    let digest = Sha256::new().chain_update(run).chain_update([0]).chain_update(job.as_str()).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gives_a_job_one_new_id() {
        let id = |run: &str, job: &str| successor(run, &JobId::new(job));
        assert_eq!(id("r-1", "7"), id("r-1", "7"));
        assert_ne!(id("r-1", "7"), id("r-2", "7"));
        assert_ne!(id("r-1", "7"), id("r-1", "8"));
        // Where run ends and job begins counts.
        assert_ne!(id("r-1", "17"), id("r-11", "7"));
        assert_eq!(uuid::Uuid::parse_str(&id("r-1", "7")).map(|id| id.get_version_num()), Ok(4));
    }

    #[test]
    fn long_lineages_are_kept_by_their_hash() {
        assert_eq!(stored_form("6f1c2d3e-0001"), "6f1c2d3e-0001");
        assert_eq!(stored_form("{\"pin\":1}").len(), 64);
        let long = "x".repeat(65);
        assert_eq!(stored_form(&long).len(), 64);
        assert_ne!(stored_form(&long), stored_form(&"x".repeat(66)));
    }
}
