-- A job of unknown cost counts once, however many of its attempts nobody can price: the first of them counts it.
DROP TRIGGER attempts_add_up;
--> statement-breakpoint
CREATE TRIGGER attempts_add_up AFTER INSERT ON attempts
BEGIN
  INSERT INTO cost_hours (tenant, hour_at, provider, model, jobs, unpriced_jobs, nano_usd,
    input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
  VALUES (NEW.tenant, NEW.at - NEW.at % 3600000, NEW.provider, NEW.model,
    (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id),
    NEW.nano_usd IS NULL AND
      (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id AND nano_usd IS NULL),
    COALESCE(NEW.nano_usd, 0),
    NEW.input_tokens, NEW.output_tokens, NEW.cached_input_tokens, NEW.reasoning_tokens)
  ON CONFLICT (tenant, hour_at, provider, model) DO UPDATE SET
    jobs = jobs + excluded.jobs,
    unpriced_jobs = unpriced_jobs + excluded.unpriced_jobs,
    nano_usd = nano_usd + excluded.nano_usd,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens;
END;
--> statement-breakpoint
UPDATE cost_hours SET unpriced_jobs = 0 WHERE unpriced_jobs > 0;
--> statement-breakpoint
INSERT INTO cost_hours (tenant, hour_at, provider, model, jobs, unpriced_jobs, nano_usd,
  input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
SELECT tenant, at - at % 3600000, provider, model, 0, COUNT(*), 0, 0, 0, 0, 0
FROM attempts AS one
WHERE nano_usd IS NULL AND NOT EXISTS (
  SELECT 1 FROM attempts AS earlier
  WHERE earlier.tenant = one.tenant AND earlier.job_id = one.job_id AND earlier.lease < one.lease
    AND earlier.nano_usd IS NULL
)
GROUP BY 1, 2, 3, 4
ON CONFLICT (tenant, hour_at, provider, model) DO UPDATE SET unpriced_jobs = excluded.unpriced_jobs;
