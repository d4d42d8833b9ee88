// Single values of the tenant: its name, config, killswitch, and counters.

import type { SignInDocument } from "../../contract/access/sign-in.ts";
import { type ConfigDocument, configDocument } from "../../contract/config/config.ts";
import type { KeptTexts } from "../../domain/front-door/front-door.ts";
import type { Measure } from "../../domain/insight/latency.ts";
import { KILLSWITCH_OFF, type Killswitch } from "../../domain/killswitch.ts";
import type { Absence } from "../../domain/tenant/absence.ts";
import type { StoragePlace } from "../../domain/tenant/storage-use.ts";
import type { HistoryPlace } from "../../domain/tenant/tenant-database.ts";
import type { JobStatus } from "../../domain/words/job-status.ts";
import { put, record, type Sql } from "./sql.ts";

export interface TenantIdentity {
  readonly tenant: string;
  readonly createdAt: number;
  readonly locationHint: string | null;
  readonly jurisdiction: string | null;
}

/** A reached budget, with its values at that time; each is recorded once. */
export interface BudgetNotice {
  /** The provider with this budget, or null for the tenant's. */
  readonly provider: string | null;
  readonly period: "day" | "month";
  readonly limitNanoUsd: number;
  readonly resetsAt: number;
}

export interface StoredConfig {
  readonly etag: string;
  readonly document: ConfigDocument;
}

/** Durations or speeds, counted by bucket. */
export interface Observed {
  /** By bucket: how many were at most this long. */
  readonly counts: number[];
  count: number;
  /** Sum of all, in seconds, or tokens a second. */
  sum: number;
}

/** What happened to jobs in the minute that starts at `at`. */
export interface ActivityMinute {
  readonly at: number;
  created: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Counts and sums of attempts of one provider and model. */
export interface ProviderTally {
  readonly provider: string;
  readonly model: string;
  completed: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
  nanoUsd: number;
  readonly errors: Record<string, number>;
  readonly durations: Observed;
  /** Of completed attempts. */
  measured?: Partial<Record<Measure, Observed>>;
}

export interface StoredCounters {
  readonly tallies: readonly ProviderTally[];
  readonly minutes: readonly ActivityMinute[];
  readonly jobsByStatus: Record<JobStatus, number>;
  readonly assignmentLatency: Observed;
  readonly streamDuration: Observed;
  readonly affinity: Record<"hit" | "miss", number>;
  readonly streamsAbandoned: number;
  readonly retriedCount: number;
  readonly prunedByStatus: Partial<Record<JobStatus, number>>;
}

const ABSENCE = "moved_to";
const ARRIVED_MOVE = "arrived_move";
const DATABASE = "history_database";
/** What each deployment knows of its own side of a move: these rows do not move. */
export const OWN_SETTINGS: readonly string[] = [ABSENCE, ARRIVED_MOVE, DATABASE];

export type SettingsTable = ReturnType<typeof settingsTable>;

export const settingsTable = (sql: Sql) => {
  const read = <T>(name: string): T | null => record(sql, "SELECT value FROM settings WHERE name = ?", name);
  const write = (name: string, value: unknown): void => {
    put(sql, "settings", { name, value: JSON.stringify(value) });
  };
  return {
    identity: (): TenantIdentity | null => read<TenantIdentity>("identity"),
    putIdentity: (identity: TenantIdentity): void => write("identity", identity),

    killswitch: (): Killswitch => read<Killswitch>("killswitch") ?? KILLSWITCH_OFF,
    putKillswitch: (killswitch: Killswitch): void => write("killswitch", killswitch),

    /** As it was before the tenant was halted for its move; null if it was not. */
    killswitchBeforeMove: (): Killswitch | null => read<Killswitch | null>("killswitch_before_move"),
    putKillswitchBeforeMove: (killswitch: Killswitch | null): void => write("killswitch_before_move", killswitch),

    /** A document that an earlier release stored gets the defaults of later settings. */
    config: (): StoredConfig | null => {
      const stored = read<StoredConfig>("config");
      const completed = configDocument.safeParse(stored?.document);
      return stored !== null && completed.success ? { ...stored, document: completed.data } : stored;
    },
    /** Which front-door texts history keeps, read without the rest of the config. */
    keptTexts: (): KeptTexts => {
      const { document } = read<{ document: { front_door?: { store?: KeptTexts } } }>("config") ?? {};
      return document?.front_door?.store ?? "result";
    },
    putConfig: (config: StoredConfig): void => write("config", config),

    /** How people sign in; null: as the deployment has it. */
    signIn: (): SignInDocument | null => read<SignInDocument>("sign_in"),
    putSignIn: (document: SignInDocument): void => write("sign_in", document),

    budgetNotices: (): BudgetNotice[] => read<BudgetNotice[]>("budget_notices") ?? [],
    putBudgetNotices: (notices: readonly BudgetNotice[]): void => write("budget_notices", notices),

    /** The last outbox row that history has; numbering continues from here when the outbox is empty. */
    drainedSeq: (): number => read<number>("drained_seq") ?? 0,
    putDrainedSeq: (seq: number): void => write("drained_seq", seq),

    /** The last outbox row whose jobs are in the tables, although history does not have it. */
    spilledSeq: (): number => read<number>("spilled_seq") ?? 0,
    putSpilledSeq: (seq: number): void => write("spilled_seq", seq),

    /** Why the tenant is not served here (`moves/moving.ts`). */
    absence: (): Absence | null => read<Absence>(ABSENCE),
    putAbsence: (absence: Absence | null): void => write(ABSENCE, absence),

    /** The move that brought the tenant here; null if it was made here. */
    arrivedMove: (): string | null => read<string>(ARRIVED_MOVE),
    putArrivedMove: (move: string): void => write(ARRIVED_MOVE, move),

    /** The database with its history. */
    historyPlace: (): HistoryPlace => read<HistoryPlace>(DATABASE) ?? { at: 0, to: null, move: 0 },
    putHistoryPlace: (place: HistoryPlace): void => write(DATABASE, place),

    /** The operator's bound of what this tenant stores; null: the service's. */
    maxGb: (): number | null => read<number>("max_gb"),
    putMaxGb: (maxGb: number | null): void => write("max_gb", maxGb),
    /** About what history has of this tenant. */
    historyBytes: (): number => read<number>("history_bytes") ?? 0,
    putHistoryBytes: (bytes: number): void => write("history_bytes", bytes),

    fillingPlaces: (): readonly StoragePlace[] => read<StoragePlace[]>("filling_places") ?? [],
    putFillingPlaces: (places: readonly StoragePlace[]): void => write("filling_places", places),

    archiveBytes: (): number => read<number>("archive_bytes") ?? 0,
    putArchiveBytes: (bytes: number): void => write("archive_bytes", bytes),
    isArchiveFailing: (): boolean => read<boolean>("archive_failing") ?? false,
    putIsArchiveFailing: (isFailing: boolean): void => write("archive_failing", isFailing),

    /** By provider, the last UTC day on which a fallback of the coordinator took over. */
    overflowDays: (): Record<string, number> => read<Record<string, number>>("overflow_days") ?? {},
    putOverflowDays: (days: Readonly<Record<string, number>>): void => write("overflow_days", days),

    counters: (): StoredCounters | null => read<StoredCounters>("counters"),
    putCounters: (counters: StoredCounters): void => write("counters", counters),
  };
};
