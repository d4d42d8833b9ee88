// A job's texts in history: in its own row, where they are short; a long result is in `results`, the rest of a prompt
// and a long input in `payloads`, which for jobs of earlier releases has both whole. Where retention has deleted a job's
// texts, its row says so by an input that is no JSON.

/** The input of a job without texts. */
export const NO_TEXTS = "";

/** Joins what the columns below read. */
export const TEXTS_OF_JOBS = `LEFT JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id
  LEFT JOIN results ON results.tenant = jobs.tenant AND results.job_id = jobs.id`;

const INPUT = "COALESCE(jobs.input, payloads.input)";

/** JSON, all of it. */
export const TEXT_COLUMNS = `COALESCE(jobs.prompt, '') || COALESCE(payloads.prompt, '') AS prompt,
  COALESCE(NULLIF(${INPUT}, '${NO_TEXTS}'), 'null') AS input,
  COALESCE(${INPUT}, 'null') = '${NO_TEXTS}' AS is_without_texts,
  COALESCE(jobs.result, results.result, 'null') AS result`;

/** Of each the beginning, and how many characters it has; null is never too long for an answer. */
export const shortTextColumns = (chars: string, jsonChars: string): string =>
  `substr(COALESCE(jobs.prompt, '') || substr(COALESCE(payloads.prompt, ''), 1, ${chars}), 1, ${chars}) AS prompt,
  COALESCE(length(jobs.prompt), 0) + COALESCE(length(payloads.prompt), 0) AS prompt_chars,
  substr(COALESCE(NULLIF(${INPUT}, '${NO_TEXTS}'), 'null'), 1, ${jsonChars}) AS input, length(${INPUT}) AS input_chars,
  substr(COALESCE(jobs.result, results.result, 'null'), 1, ${jsonChars}) AS result,
  length(COALESCE(jobs.result, results.result)) AS result_chars`;
