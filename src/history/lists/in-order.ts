// The jobs of a filter in the order of a list by end or cost, which an index has. Each is looked at, or compared
// with what another index finds; then only the rows of jobs that it finds are read.

import { type Bind, binding, boundsOf, conditionsOf, unknownOf } from "./conditions.ts";
import {
  type AskedJobs,
  IN_INDEX,
  type Match,
  matchesOf,
  type Nearest,
  nearestIn,
  type Selected,
  selectionOf,
} from "./selection.ts";

const IN_ORDER = { from: "jobs", seq: "jobs.seq", place: null };
const OF_TENANT = "jobs.tenant = ?1";

/** Each is looked at; in a span of time, only its row numbers are. */
export const inOrder = ({ filter }: Pick<AskedJobs, "filter">): Selected => {
  const { bindings, bind } = binding();
  const bounds = boundsOf(filter, IN_ORDER.seq, bind);
  const asked = conditionsOf(filter).map(({ sql }) => sql(bind, "+"));
  return { ...IN_ORDER, where: [OF_TENANT, ...bounds, ...asked].join(" AND "), bindings };
};

/** From which row number to which. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

/** Compared with what the full-text index finds: with its nearest, or in a span. */
export const inOrderOfIndex = (asked: AskedJobs, part: Nearest | Span): Selected => {
  const { bindings, bind } = binding();
  // Ids first: the set of what the words find is made only when a job does not match by its id.
  const matches = matchesOf(asked, bind).toReversed();
  const isFound = `(${matches.map((match) => isMatch(match, part, bind)).join(" OR ")})`;
  const checks = unknownOf(asked.filter).map(({ sql }) => sql(bind, "+"));
  return { ...IN_ORDER, where: [OF_TENANT, isFound, ...checks].join(" AND "), bindings };
};

const isMatch = ({ query, isOfAll, bounds }: Match, part: Nearest | Span, bind: Bind): string => {
  // Where all jobs match, the bounds are enough.
  if (isOfAll) return `(${bounds(IN_ORDER.seq).join(" AND ")})`;
  const { seq } = IN_INDEX;
  // A number is bound as a real one, from which the index would not begin.
  const integer = (value: number): string => `CAST(${bind(value)} AS INTEGER)`;
  const inPart = "least" in part ? [`${seq} >= ${integer(part.least)}`, `${seq} <= ${integer(part.most)}`] : [];
  const where = [`job_terms MATCH ${bind(query)}`, ...bounds(seq), ...inPart].join(" AND ");
  return isIn({ ...IN_INDEX, where }, "least" in part ? null : part);
};

const isIn = ({ from, where, seq, place }: Omit<Selected, "bindings">, nearest: Nearest | null): string =>
  `+jobs.seq IN (SELECT ${seq} FROM ${from} WHERE ${where} ${nearest === null ? "" : nearestIn({ place }, nearest)})`;

/** Compared with the nearest jobs of unknown cost. */
export const inOrderOfUnpriced = ({ tenant, filter, lead }: AskedJobs, nearest: Nearest): Selected => {
  const unpriced = selectionOf(tenant, filter, lead);
  return { ...IN_ORDER, where: `${OF_TENANT} AND ${isIn(unpriced, nearest)}`, bindings: unpriced.bindings };
};
