// A job's input in history. Where retention has deleted a job's texts, its row says so by an input that is no JSON.

/** The input of a job without texts. */
export const NO_TEXTS = "";

/** The input as JSON. */
export const KEPT_INPUT = `COALESCE(NULLIF(payloads.input, '${NO_TEXTS}'), 'null')`;
