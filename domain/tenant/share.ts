// In which of several object processes a tenant lives. The result names the folder with the tenant's data, so a change
// of this rule loses every tenant that it moves.

import { mixedHashOf } from "../words/fnv.ts";

export const shareOf = (tenant: string, count: number): number => mixedHashOf(tenant) % count;

export interface ProcessShare {
  readonly index: number;
  readonly count: number;
}

export const WHOLE: ProcessShare = { index: 0, count: 1 };

/** `<index>/<count>`, the form in which a process gets its share. */
export const shareText = ({ index, count }: ProcessShare): string => `${index}/${count}`;

/** Everything if no share is given. */
export const readShare = (text: string | undefined): ProcessShare => {
  const [index = 0, count = 1] = (text ?? "").split("/").filter(Boolean).map(Number);
  return { index, count };
};

export const isInShare = (tenant: string, { index, count }: ProcessShare): boolean => shareOf(tenant, count) === index;
