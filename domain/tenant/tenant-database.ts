// Which of the service's history databases has a tenant's rows: `DB`, or further ones, `DB_1`, `DB_2` and so on,
// because one D1 database has 10 GB. A tenant gets its database when it is made or arrives, and keeps it until it is
// moved to another one: its object stores the number. `DB` has the name of every tenant, and nothing else of those that
// are in another database.

import { invalid } from "../words/refusal.ts";

/** The cron's work for all of them fits into the queries of one invocation. */
export const MAX_DATABASES = 16;

type Further = `DB_${number}`;
export type DatabaseBinding = "DB" | Further;

/** The platform's bindings: D1 databases, or anything else that there is one of for each. */
export interface Databases<Database> {
  readonly DB: Database;
  readonly [further: Further]: Database | undefined;
}

export const bindingOf = (number: number): DatabaseBinding => (number === 0 ? "DB" : `DB_${number}`);

/** The number of a binding's name; null for any other text. */
export const databaseNumber = (text: string): number | null => {
  const [, digits] = /^DB_([1-9]\d?)$/.exec(text) ?? [];
  if (digits === undefined) return text === "DB" ? 0 : null;
  return Number(digits) < MAX_DATABASES ? Number(digits) : null;
};

/** The only way from a tenant to its database; undefined if it is not bound here. Another one is never an answer. */
export const databaseOf = <Database>(databases: Databases<Database>, number: number): Database | undefined =>
  databases[bindingOf(number)];

/**
 * Where a tenant's history is, and where it moves to. `move` grows with each try and with its end: in a database that one
 * of them has written to, an earlier one changes nothing any more.
 */
export interface HistoryPlace {
  readonly at: number;
  readonly to: number | null;
  readonly move: number;
}

/** Also of a step that comes when its move has ended. */
export const staleMove = invalid("next", "is of another try: begin without it");

/** No database has it: while its history moves, a tenant reads and writes neither of the two. */
const MOVING = 99;

export const numberOf = ({ at, to }: HistoryPlace): number => (to === null ? at : MOVING);

export class MissingDatabase extends Error {
  readonly isMoving: boolean;

  constructor(number: number) {
    const isMoving = number === MOVING;
    super(
      isMoving
        ? "this tenant's history moves to another database, and is read and written again when it is there"
        : `the database ${bindingOf(number)}, which has this tenant's history, is not bound: wrangler.toml must name it`,
    );
    this.isMoving = isMoving;
  }
}

/** In the log: that a history moves is nobody's failure. */
export const levelOfFailure = (error: unknown): "info" | "error" =>
  error instanceof MissingDatabase && error.isMoving ? "info" : "error";

/** All that are bound, by number. */
export const boundDatabases = <Database>(
  databases: Databases<Database>,
): { readonly number: number; readonly database: Database }[] =>
  Array.from({ length: MAX_DATABASES }, (_, number) => ({ number, database: databaseOf(databases, number) })).filter(
    (one): one is { number: number; database: Database } => one.database !== undefined,
  );

export interface DatabaseUse {
  readonly number: number;
  readonly bytes: number;
  readonly tenants: number;
}

/** Smaller differences say little about how full a database will be. */
const BYTES_A_STEP = 64 * 1024 ** 2;

/** For a new tenant: the one with the fewest bytes, of these the one with the fewest tenants. */
export const emptiestDatabase = (uses: readonly DatabaseUse[]): number => {
  const steps = ({ bytes }: DatabaseUse): number => Math.floor(bytes / BYTES_A_STEP);
  const [first] = [...uses].sort(
    (one, other) => steps(one) - steps(other) || one.tenants - other.tenants || one.number - other.number,
  );
  return first?.number ?? 0;
};
