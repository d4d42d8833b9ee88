// The error of a runtime that does not have the requested model. Runtimes differ in status and code, so the words of
// the message decide; the worker and the coordinator read them in the same way.

/**
 * What a runtime repeats of a request, in vLLM all of it, stands in quotes or braces. Nothing behind the first of them
 * counts but the model's own name: a client would else take the model from all others by its request's words.
 */
const OWN_WORDS = /^(?:[^'"`{\n]|(?<=\w)'(?=\w)){0,120}?/.source;
const NAME = /[ :=]{0,2}['"`]?[^\s'"`{]{0,200}['"`]?[^'"`{\n]{0,60}?/.source;

export const inOwnWords = (words: RegExp): RegExp => new RegExp(`${OWN_WORDS}(?:${words.source})`, "i");

export const NO_MODEL_LOADED = inOwnWords(
  /no models? (is |are )?(currently )?loaded|model is not loaded|model not loaded/,
);
const MODEL_NOT_FOUND = inOwnWords(
  new RegExp(
    `\\bmodels?\\b${NAME}(not found|does not exist|is not supported for|decommissioned|is blocked at)|model_not_found|model_not_available|invalid model (identifier|id|name)|unknown model|no such model`,
  ),
);
const ABOUT_A_MODEL = inOwnWords(/\bmodels?\b/);
/** There is the model, but it has another API. */
const OF_ANOTHER_API = /\bv1\/|\bendpoint\b/i;

const REFUSED: readonly number[] = [400, 403, 404, 422];
const NOT_FOUND = 404;

/** Whether an answer with this status (none in a stream) and text says that there is no such model. */
export const saysNoSuchModel = (status: number | undefined, text: string): boolean => {
  if (status !== undefined && !REFUSED.includes(status)) return false;
  return MODEL_NOT_FOUND.test(text) || (status === NOT_FOUND && ABOUT_A_MODEL.test(text) && !OF_ANOTHER_API.test(text));
};

export const MISSING_MODEL_CODES: readonly string[] = ["model_not_found", "no_model_loaded"];

/** A front-door request fails with the runtime's own status, code and words. */
export const isModelMissing = ({
  code,
  status,
  message,
}: {
  code: string;
  status?: number;
  message: string;
}): boolean =>
  MISSING_MODEL_CODES.includes(code) ||
  (status !== undefined &&
    REFUSED.includes(status) &&
    (NO_MODEL_LOADED.test(message) || saysNoSuchModel(status, message)));
