// The slots that are being filled, in memory: stored when they end, and with each drain, as the counters are. Sleep
// loses nothing, a crash the figures of a moment.

import { SLOT_KINDS, type SlotKind, slotAt } from "../../../domain/insight/slots.ts";

interface SlotTable<Content> {
  readonly put: (kind: SlotKind, at: number, content: Content) => void;
  readonly removeOld: (nowAt: number) => void;
}

interface Filling<Content> {
  readonly at: number;
  readonly content: Content;
  isStored: boolean;
}

export class FillingSlots<Content, Table extends SlotTable<Content>> {
  readonly #filling = new Map<SlotKind, Filling<Content>>();
  readonly #begin: (table: Table, kind: SlotKind, at: number) => Content;

  /** `begin`: what a slot has that is filled from now on. */
  constructor(begin: (table: Table, kind: SlotKind, at: number) => Content) {
    this.#begin = begin;
  }

  note(table: Table, nowAt: number, change: (content: Content) => void): void {
    for (const kind of SLOT_KINDS) {
      const filling = this.#at(table, kind, slotAt(kind, nowAt));
      change(filling.content);
      filling.isStored = false;
    }
  }

  of(kind: SlotKind): Filling<Content> | undefined {
    return this.#filling.get(kind);
  }

  storeAll(table: Table): void {
    for (const [kind, filling] of this.#filling) this.#store(table, kind, filling);
  }

  #at(table: Table, kind: SlotKind, at: number): Filling<Content> {
    const known = this.#filling.get(kind);
    if (known?.at === at) return known;
    if (known !== undefined) this.#store(table, kind, known);
    const made = { at, content: this.#begin(table, kind, at), isStored: true };
    table.removeOld(at);
    this.#filling.set(kind, made);
    return made;
  }

  #store(table: Table, kind: SlotKind, filling: Filling<Content>): void {
    if (filling.isStored) return;
    table.put(kind, filling.at, filling.content);
    filling.isStored = true;
  }
}
