-- How fast a run may go, as a JSON object; NULL for runs from before.
ALTER TABLE runs ADD COLUMN options TEXT;
