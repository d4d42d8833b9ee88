// The error of a runtime that does not have the requested model. Runtimes differ in status and code, so the words of
// the message decide; the worker and the coordinator read them in the same way.

export const NO_MODEL_LOADED = /no models? (is |are )?(currently )?loaded|model is not loaded|model not loaded/i;
const MODEL_NOT_FOUND =
  /model\b.*(not found|does not exist|is not supported for)|model_not_found|model_not_available|invalid model (identifier|id|name)|unknown model|no such model/i;

const REFUSED: readonly number[] = [400, 404, 422];
const NOT_FOUND = 404;

/** Whether an answer with this status (none in a stream) and text says that there is no such model. */
export const saysNoSuchModel = (status: number | undefined, text: string): boolean => {
  if (status !== undefined && !REFUSED.includes(status)) return false;
  return MODEL_NOT_FOUND.test(text) || (status === NOT_FOUND && /\bmodels?\b/i.test(text));
};

const CODES: ReadonlySet<string> = new Set(["model_not_found", "no_model_loaded"]);

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
  CODES.has(code) ||
  (status !== undefined &&
    REFUSED.includes(status) &&
    (NO_MODEL_LOADED.test(message) || saysNoSuchModel(status, message)));
