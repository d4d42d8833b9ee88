// What a key is called, where only its id is told. An admin may list the keys; others see the id.

import type { KeyList } from "../../contract/access/key.ts";
import { api } from "../api.ts";
import { useLoad } from "./load.ts";
import { isAdmin } from "./session.ts";

export type NameOf = (keyId: string) => string;

/** Keys of one name are told apart by their ids. */
const nameIn = (keys: KeyList["keys"]): NameOf => {
  const byId = new Map(keys.map(({ id, name }) => [id, name]));
  const byName = Map.groupBy(keys, ({ name }) => name);
  return (id) => {
    const name = byId.get(id);
    if (name === undefined) return id;
    return byName.get(name)?.length === 1 ? name : `${name} (${id})`;
  };
};

export const readKeyNames = async (signal: AbortSignal): Promise<NameOf> =>
  nameIn(isAdmin.value ? (await api.keys.list({ signal })).keys : []);

export const useKeyNames = (isWanted: boolean): NameOf =>
  useLoad(isWanted ? "key names" : null, readKeyNames).data ?? nameIn([]);
