-- Each attempt is inserted once, so each is added once, however often its batch is applied. A job counts in the hour of
-- its first attempt; an attempt of unknown cost counts as unpriced and adds nothing to the sum.
CREATE TRIGGER attempts_add_up AFTER INSERT ON attempts
BEGIN
  INSERT INTO cost_hours (tenant, hour_at, provider, model, jobs, unpriced_jobs, nano_usd,
    input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
  VALUES (NEW.tenant, NEW.at - NEW.at % 3600000, NEW.provider, NEW.model,
    (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id),
    NEW.nano_usd IS NULL, COALESCE(NEW.nano_usd, 0),
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
