-- The layout's own word for the state in which a job was frozen, where the state alone does not say enough.
ALTER TABLE run_jobs ADD COLUMN native TEXT;
