// Defects in a move to another deployment, and in the deletion of a tenant.

import { type Mutant, mutant } from "./mutant.ts";

export const DEPARTURE_MUTANTS: readonly Mutant[] = [
  mutant(
    "a history's move deletes where a later one has brought rows",
    "src/history/is-here.ts",
    "AND moved.history_move >",
    "AND -moved.history_move >",
    ["test/databases/history-moves.workers.test.ts"],
  ),
  mutant(
    "a try of a history's move ends it although a later one has begun",
    "durable-objects/moves/history-move.ts",
    'move.step !== "begin" && move.move !== place.move',
    'move.step === "renew" && move.move !== place.move',
    ["test/databases/history-moves.workers.test.ts"],
  ),
  mutant(
    "a deleted tenant wakes the relays of workers that had no data line",
    "durable-objects/store/fleet/workers.ts",
    "Number(worker.isEdge || worker.hasHadLine)",
    "1",
    ["test/http/tenants.workers.test.ts"],
  ),
  mutant(
    "a move that is cancelled ends an operator's halt",
    "durable-objects/moves/moving.ts",
    "putKillswitchBeforeMove(killswitch);",
    "putKillswitchBeforeMove({ ...killswitch, level: 0 });",
  ),
  mutant(
    "a tenant that has left is served",
    "durable-objects/calls/turn-runner.ts",
    "const away = absenceRefusal(this.memory.absence);",
    "const away = absenceRefusal(null);",
  ),
  mutant(
    "a tenant that stays has no alarm",
    "durable-objects/tenant.ts",
    "if (stayed.ok) await this.alarm();",
    "if (stayed.ok) this.parts.wake.clear();",
  ),
  mutant(
    "a tenant that has arrived stays halted",
    "durable-objects/moves/moving.ts",
    'endHalt(turn);\n  turn.audit("tenant.arrived", "");',
    'turn.audit("tenant.arrived", "");',
  ),
  mutant(
    "idempotency keys stay behind in a move",
    "durable-objects/store/table-rows.ts",
    '"key_grants"])',
    '"key_grants", "idempotency"])',
  ),
  mutant(
    "each page of a move skips a row",
    "domain/tenant/moved-rows.ts",
    "isLast ? null : keys.map((key) => last[key] ?? null)",
    "isLast ? null : keys.map((key) => (found[rows.length] ?? last)[key] ?? null)",
  ),
  mutant(
    "a tenant brings its own side of the move along",
    "durable-objects/store/table-rows.ts",
    'table === "settings" ? OWN_ROWS : "true"',
    '"true"',
  ),
  mutant(
    "the deletion of a tenant does not wait for what is on its way to history",
    "durable-objects/tenant.ts",
    "await this.parts.history.ended();",
    "void this.parts.history.ended();",
  ),
  mutant(
    "a drain writes into a tenant that was deleted meanwhile",
    "durable-objects/history/history-writer.ts",
    "if (store.outbox.firstSeq() > seq) return;",
    "if (seq < 0) return;",
  ),
];
