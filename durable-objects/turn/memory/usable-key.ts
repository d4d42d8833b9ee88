// Whether a key that was not revoked may be used: a personal one only while its person may.

import type { KeyRecord } from "../../../domain/access/key.ts";
import { personalRole } from "../../../domain/access/person.ts";
import type { Store } from "../../store/open.ts";

export const isUsable = (store: Pick<Store, "people">, key: KeyRecord, nowAt: number): boolean =>
  key.personId === null || personalRole(key, store.people.find(key.personId), nowAt).ok;
