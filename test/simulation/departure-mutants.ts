// Defects in a move to another deployment, and in the deletion of a tenant.

import { type Mutant, mutant } from "./mutant.ts";

export const DEPARTURE_MUTANTS: readonly Mutant[] = [
  mutant(
    "a move that is cancelled ends an operator's halt",
    "durable-objects/operations/moving.ts",
    "putKillswitchBeforeMove(killswitch);",
    "putKillswitchBeforeMove({ ...killswitch, level: 0 });",
  ),
  mutant(
    "a tenant that has left is served",
    "durable-objects/operation-caller.ts",
    "const moved = movedRefusal(movedTo);",
    "const moved = movedRefusal(null);",
  ),
  mutant(
    "a tenant that stays has no alarm",
    "durable-objects/tenant.ts",
    "if (stayed.ok) await this.alarm();",
    "if (stayed.ok) this.#wake.clear();",
  ),
  mutant(
    "a tenant that has arrived stays halted",
    "durable-objects/operations/moving.ts",
    'endHalt(turn);\n  turn.audit("tenant.arrived", "");',
    'turn.audit("tenant.arrived", "");',
  ),
  mutant(
    "idempotency keys stay behind in a move",
    "durable-objects/store/table-rows.ts",
    'new Set(["schema_steps", "sessions"])',
    'new Set(["schema_steps", "sessions", "idempotency"])',
  ),
  mutant(
    "each page of a move skips a row",
    "domain/moved-rows.ts",
    "isLast ? null : from + rows.length",
    "isLast ? null : from + rows.length + 1",
  ),
  mutant(
    "an arriving tenant takes only its first rows",
    "durable-objects/relocation.ts",
    "store.settings.putMovedTo(ARRIVING);",
    "void ARRIVING;",
  ),
  mutant(
    "the deletion of a tenant does not wait for what is on its way to history",
    "durable-objects/tenant.ts",
    "await this.#history.ended();",
    "void this.#history.ended();",
  ),
  mutant(
    "a drain writes into a tenant that was deleted meanwhile",
    "durable-objects/history-writer.ts",
    "if (store.outbox.firstSeq() > seq) return;",
    "if (seq < 0) return;",
  ),
];
