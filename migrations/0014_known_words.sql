-- The words that the index knows, each with its entries: a search looks up those that begin with its words.
CREATE VIRTUAL TABLE job_terms_known USING fts5vocab(job_terms, 'instance');
