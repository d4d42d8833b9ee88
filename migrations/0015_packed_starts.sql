-- The start of a completed job's prompt may be packed, a BLOB: its words stay in the index as they are.
DROP TRIGGER jobs_retermed;--> statement-breakpoint
CREATE TRIGGER jobs_retermed AFTER UPDATE OF status, worker, ran_provider, error_code, error_message, labels, prompt ON jobs
WHEN typeof(NEW.prompt) <> 'blob' AND (NEW.status <> OLD.status OR NEW.worker IS NOT OLD.worker
  OR NEW.ran_provider IS NOT OLD.ran_provider OR NEW.error_code IS NOT OLD.error_code
  OR NEW.error_message IS NOT OLD.error_message OR NEW.labels <> OLD.labels OR NEW.prompt IS NOT OLD.prompt)
BEGIN
  DELETE FROM job_terms WHERE rowid = NEW.seq;
  INSERT INTO job_terms (rowid, terms) SELECT seq, terms FROM job_documents WHERE seq = NEW.seq;
END;
