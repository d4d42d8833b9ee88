// Outcomes are values: a rule returns its decision, or the refusal that explains why not.

export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });

/** The first refusal of some checks; those behind it are not made. */
export const allPass = <E>(...checks: readonly (() => Result<unknown, E>)[]): Result<null, E> => {
  for (const check of checks) {
    const done = check();
    if (!done.ok) return done;
  }
  return ok(null);
};
