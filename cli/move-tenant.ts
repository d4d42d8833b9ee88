// A tenant's move, step by step: copied part by part, both ends compared, and only then is it served at the target.
// Interrupted at any point, the same steps complete the move: what a try has brought is removed or recognised.

import type { MoveAnswer, MovedFileQuery, RowsDigest, RowsPart, RowsQuery } from "../contract/move.ts";
import type { Signalbox } from "../sdk/signalbox.ts";
import { filesIn, moveFile } from "./move-files.ts";
import { barOf } from "./progress.ts";

type Tenants = Signalbox["tenants"];
type Table = MoveAnswer["tables"][number];

interface Ends {
  readonly tenant: string;
  readonly source: Tenants;
  readonly target: Tenants;
  readonly options: { readonly signal?: AbortSignal };
  /** Told once the tenant is stopped here, before anything is copied. */
  readonly onStopped?: () => void;
  /** Told if it is stopped here, and the target does not take it. */
  readonly onRefused?: (error: unknown) => void;
  /** Told after each part. */
  readonly onProgress?: (words: string) => void;
}

interface MovedTable extends Table {
  readonly rows: number;
}

/** The table with the records of files. */
const FILES = "files";

const copyFiles = async ({ tenant, source, target, options }: Ends, part: RowsPart): Promise<void> => {
  const ends = {
    read: (id: string, ofBatch: MovedFileQuery) => source.readFile(tenant, id, ofBatch, options),
    write: (id: string, bytes: ReadableStream<Uint8Array>, until: string) =>
      target.writeFile(tenant, id, bytes, { ...options, until }),
  };
  for (const file of filesIn(part)) await moveFile(ends, file, Date.now());
};

/** Returns how many rows the table has. */
const copyTable = async ({ tenant, source, target, options, onProgress }: Ends, table: Table): Promise<number> => {
  let rows = 0;
  for (let from: string | null = ""; from !== null; ) {
    const part = await source.readRows(tenant, { ...table, from }, options);
    await target.writeRows(tenant, part, options);
    if (table.place === "object" && table.table === FILES) await copyFiles({ tenant, source, target, options }, part);
    rows += part.rows.length;
    onProgress?.(`Copies ${table.place} table ${table.table}: ${rows} rows`);
    from = part.next;
  }
  return rows;
};

const compareTable = async ({ tenant, source, target, options, onProgress }: Ends, table: Table): Promise<void> => {
  for (let from: string | null = ""; from !== null; ) {
    const query: RowsQuery = { ...table, from };
    const [here, there]: [RowsDigest, RowsDigest] = await Promise.all([
      source.digestRows(tenant, query, options),
      target.digestRows(tenant, query, options),
    ]);
    if (here.rows !== there.rows || here.digest !== there.digest || here.next !== there.next)
      throw new Error(
        `The rows of ${table.place} table ${table.table} differ (${here.rows} here, ${there.rows} there, from ${from || "the first"}). The tenant has not left: repeat the move, or cancel it with --give-up.`,
      );
    onProgress?.(`Compares ${table.place} table ${table.table}`);
    from = here.next;
  }
};

/** Returns the copied tables; none if an interrupted try had brought everything. */
export const moveTenant = async (ends: Ends, to: string): Promise<MovedTable[]> => {
  const { tenant, source, target, options } = ends;
  const { move, tables, created_at, jurisdiction, schema } = await source.leave(tenant, to, options);
  const arrival = { move, created_at, jurisdiction, schema };
  const { state } = await target.arrive(tenant, arrival, options).catch((error: unknown) => {
    ends.onRefused?.(error);
    throw error;
  });
  const moved: MovedTable[] = [];
  if (state === "arriving") {
    ends.onStopped?.();
    const { onProgress } = ends;
    const stepOf = (table: Table, step: number): Ends => ({
      ...ends,
      onProgress: (words) =>
        onProgress?.(`${barOf(step * tables.length + tables.indexOf(table), tables.length * 2)} ${words}`),
    });
    for (const table of tables) moved.push({ ...table, rows: await copyTable(stepOf(table, 0), table) });
    for (const table of tables) await compareTable(stepOf(table, 1), table);
  }
  // In this order: two deployments never serve one tenant.
  await source.left(tenant, options);
  await target.arrived(tenant, options);
  return moved;
};
