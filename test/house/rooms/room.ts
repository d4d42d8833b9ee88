// A room of the house: a folder, or files of one, and what it may import.

export interface Room {
  /** Folders and files; the longest match for a path decides. The first names the room. */
  readonly places: readonly string[];
  /** Rooms, and single files of rooms, that it may import; `domain/*` stands for the room and all rooms in it. */
  readonly may: readonly string[];
  /** Packages it may import; `node:` stands for Node's own. */
  readonly packages: readonly string[];
}
