import type { Bench } from "../plan.ts";
export async function soak(_: Bench): Promise<void> {}
