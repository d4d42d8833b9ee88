// What a tenant has spent, by calendar day (UTC) and provider: an index over stored sums, so reading it costs no query.
// Invariant: it has at least the days of the current month, with the table's sums.

import { DAY_MS } from "../words/duration.ts";
import { earliest } from "../words/earliest.ts";
import { type Period, periodAt } from "./period.ts";

export interface SpentOnDay {
  /** Midnight UTC, epoch ms. */
  readonly dayAt: number;
  readonly provider: string;
  readonly nanoUsd: number;
}

interface Day {
  totalNanoUsd: number;
  readonly byProvider: Map<string, number>;
}

export const dayStartAt = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

export class Spending {
  readonly #days = new Map<number, Day>();

  constructor(rows: readonly SpentOnDay[] = []) {
    for (const row of rows) this.add(row);
  }

  add({ dayAt, provider, nanoUsd }: SpentOnDay): void {
    const day = this.#days.get(dayAt) ?? { totalNanoUsd: 0, byProvider: new Map<string, number>() };
    this.#days.set(dayAt, day);
    day.totalNanoUsd += nanoUsd;
    day.byProvider.set(provider, (day.byProvider.get(provider) ?? 0) + nanoUsd);
  }

  /** Nano-dollars of the period that an instant lies in, for one provider or (null) all. */
  of(period: Exclude<Period, "week">, at: number, provider: string | null = null): number {
    const { fromAt, toAt } = periodAt(period, at);
    let sum = 0;
    for (let dayAt = fromAt; dayAt < toAt; dayAt += DAY_MS) {
      const day = this.#days.get(dayAt);
      if (day !== undefined) sum += provider === null ? day.totalNanoUsd : (day.byProvider.get(provider) ?? 0);
    }
    return sum;
  }

  /** The first day after an instant that something was spent on, because the clock was set back; null if none was. */
  nextDayAt(at: number): number | null {
    return earliest([...this.#days.keys()].filter((dayAt) => dayAt > at));
  }
}
