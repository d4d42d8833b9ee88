// The [vars] of wrangler.toml, for a deploy. A value that the running service could not use ends the deploy, because
// nothing else reports it.

import { ExitError } from "../exit-error.ts";
import { requireSignIn } from "./edge-environment.ts";
import { requireValues } from "./require-values.ts";
import { USAGE } from "./settings.ts";
import { unknownNames } from "./unknown-names.ts";

/** Returns what to say of names that are nearly those of settings. */
export const requireVars = async (vars: Readonly<Record<string, unknown>>): Promise<string[]> => {
  // The platform hands over a number, a switch or a table as such, and every setting is compared as text.
  for (const [name, value] of Object.entries(vars))
    if (typeof value !== "string")
      throw new ExitError(`${name} in wrangler.toml is no text: put its value in quotes.`, 2);
  const settings = vars as Readonly<Record<string, string>>;
  requireValues(settings);
  if (settings.SERVICE_SIGN_IN) await requireSignIn(settings.SERVICE_SIGN_IN);
  return unknownNames(USAGE, settings);
};
