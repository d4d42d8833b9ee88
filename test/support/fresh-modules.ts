// Modules with another one in the place of one that they import. Test files share the modules of their process, so that
// `vi.mock` does nothing where another file has loaded them before.

import { vi } from "vitest";

/** What `load` imports, loaded anew with what `made` makes of the module of that name. The others get theirs as they are. */
export const freshWith = async <T>(
  name: string,
  made: (original: () => Promise<object>) => object | Promise<object>,
  load: () => Promise<T>,
): Promise<T> => {
  vi.resetModules();
  vi.doMock(name, (original) => made(original as () => Promise<object>) as never);
  try {
    return await load();
  } finally {
    vi.doUnmock(name);
    vi.resetModules();
  }
};
