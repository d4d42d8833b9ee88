// The span of time that the overview and a worker's page show: one choice for both.

import { ROLLING_PERIODS, type RollingPeriod } from "../../contract/words/values.ts";
import { isOneOf, kept } from "./kept.ts";

type Span = RollingPeriod;

const NAMES: Readonly<Record<Span, string>> = { "1h": "hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days" };
const ALL = Object.keys(NAMES) as Span[];

export const SPAN_OPTIONS = ALL.map((one) => [one, one === "1h" ? "1 hour" : NAMES[one]] as const);

export const lastOf = (span: Span): string => `last ${NAMES[span]}`;

export const spanMs = (span: Span): number => ROLLING_PERIODS[span].ms;

export const { chosen: span, choose: chooseSpan } = kept<Span>("span", "1h", isOneOf(ALL));
