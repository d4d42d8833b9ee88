// The history databases of a deployment. wrangler.toml has those that there are; `--databases` adds further ones.

import { bindingOf, MAX_DATABASES } from "../../domain/tenant/tenant-database.ts";
import type { Database } from "../../self-host/build/project.ts";
import { ExitError } from "../../self-host/exit-error.ts";

/** All that the deployment has afterwards; a further one has the migrations of the first. */
export const databasesWith = (
  { databases }: { readonly databases: readonly Database[] },
  asked: string | undefined,
): readonly Database[] => {
  const [first] = databases;
  if (asked === undefined || first === undefined) return databases;
  const count = Number(asked);
  if (!/^\d+$/.test(asked) || count < 1 || count > MAX_DATABASES)
    throw new ExitError(`--databases is "${asked}": give a number from 1 to ${MAX_DATABASES}.`, 2);
  if (count < databases.length)
    throw new ExitError(
      `This deployment has ${databases.length} databases, with tenants in each: their number can only grow.`,
      2,
    );
  return Array.from({ length: count }, (_, number) => {
    const binding = bindingOf(number);
    const known = databases.find((one) => one.binding === binding);
    return known ?? { binding, databaseName: `${first.databaseName}-${number}`, migrations: first.migrations };
  });
};
