import { assertRowExists, DatabaseOperation, type Params } from "@trellis/fn/database";
import {
  and,
  desc,
  eq,
  inArray,
  type InsertModel,
  sql,
  type UpdateModel,
} from "@trellis/fn/database/orm";
import { defineQuery, defineStatement } from "../database.ts";
import { labels, notes } from "../schema.ts";

const { Select, Insert, Update } = DatabaseOperation;

type NewNote = Pick<InsertModel<typeof notes>, "userId" | "title" | "body" | "labelId">;
type NoteChange = UpdateModel<typeof notes, "userId" | "search">;

export interface NoteFilter {
  limit: number;
  label?: string[];
  search?: string;
}

export const listNotes = defineQuery(
  { tables: [{ table: notes, operations: [Select] }] },
  async function listNotes(db, userId: string, { limit, label, search }: NoteFilter) {
    return await db.select().from(notes)
      .where(and(
        eq(notes.userId, userId),
        label && inArray(notes.labelId, label),
        search ? sql`position(${search.toLowerCase()} in ${notes.search}) > 0` : undefined,
      ))
      .orderBy(desc(notes.createdAt))
      .limit(limit);
  },
);

export const findNote = defineStatement(
  "findNote",
  (db, p: Params<{ userId: string; noteId: string }>) =>
    db.select().from(notes).where(and(eq(notes.id, p.noteId), eq(notes.userId, p.userId))),
  { map: (found) => found.at(0) },
);

export const createNote = defineQuery(
  {
    tables: [{ table: notes, operations: [Select, Insert] }, {
      table: labels,
      operations: [Select],
    }],
    transaction: true,
  },
  async function createNote(db, note: NewNote) {
    if (note.labelId) await assertRowExists(db, labels, labels.id, note.labelId);
    const [created] = await db.insert(notes).values({
      ...note,
      search: searchText(note.title, note.body),
    }).returning();
    return created;
  },
);

export const changeNote = defineQuery(
  {
    tables: [{ table: notes, operations: [Select, Update] }, {
      table: labels,
      operations: [Select],
    }],
    transaction: true,
  },
  async function changeNote(db, userId: string, noteId: string, change: NoteChange) {
    const own = and(eq(notes.id, noteId), eq(notes.userId, userId));
    const [present] = await db.select().from(notes).where(own);
    if (present === undefined) return undefined;
    if (change.labelId) await assertRowExists(db, labels, labels.id, change.labelId);
    const { title, body } = { ...present, ...change };
    const [changed] = await db.update(notes)
      .set({ ...change, search: searchText(title, body), updatedAt: new Date() })
      .where(own)
      .returning();
    return changed;
  },
);

export const deleteNote = defineStatement(
  "deleteNote",
  (db, p: Params<{ userId: string; noteId: string }>) =>
    db.delete(notes)
      .where(and(eq(notes.id, p.noteId), eq(notes.userId, p.userId)))
      .returning({ id: notes.id }),
  { map: (deleted) => deleted.length > 0 },
);

export const reindexNotes = defineStatement(
  "reindexNotes",
  (db) =>
    db.update(notes)
      .set({ search: sql`lower(${notes.title} || ' ' || ${notes.body})` })
      .returning({ id: notes.id }),
  { map: (changed) => changed.length },
);

function searchText(title: string, body: string): string {
  return `${title} ${body}`.toLowerCase();
}
