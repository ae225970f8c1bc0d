//! docs/capture.md: the text next to this file, with the recipes that the tests run.

const TEXT: &str = include_str!("capture.md");

macro_rules! recipes {
    ($($name:literal)+) => {
        [$(($name, include_str!(concat!("../../../assets/recipes/", $name)))),+]
    };
}

/// The files that the text shows.
const RECIPES: [(&str, &str); 9] = recipes!(
    "dead_letter_jobs/dead_letters.rb"
    "dead_letter_jobs/dead_letter_job.rb"
    "dead_letter_jobs/replay.rb"
    "dead_letter_jobs/config.toml"
    "jobs_dlq/worker.py"
    "jobs_dlq/app.py"
    "dlq_events/postgres.sql"
    "dlq_events/mysql.sql"
    "dlq_events/sqlite.sql"
);

/// The page.
pub fn reference() -> String {
    let fill = |text: String, (name, recipe): &(&str, &str)| text.replace(&format!("{{{{{name}}}}}"), recipe);
    RECIPES.iter().fold(TEXT.to_owned(), fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_stands_on_the_page_whole() {
        let page = reference();
        for (name, recipe) in RECIPES {
            assert_eq!(page.matches(recipe).count(), 1, "{name}");
            assert!(recipe.ends_with('\n'), "{name}: what follows is the end of the block");
        }
        assert!(!page.contains("}}```") && !page.contains("{{dead") && !page.contains("{{jobs"), "{page}");
    }
}
