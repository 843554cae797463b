import { DatabaseOperation, type Params } from "@trellis/fn/database";
import { and, desc, eq, lt, or } from "@trellis/fn/database/orm";
import { defineQuery, defineStatement } from "../database.ts";
import { labels, noteActivity, notes } from "../schema.ts";

const { Select, Insert } = DatabaseOperation;

interface NewNote {
  userId: string;
  labelId: string;
  title: string;
  body: string;
  color: string;
  priority: number;
  pinned: boolean;
  tags: string[];
  dueAt: Date | null;
}

const byAge = [desc(notes.createdAt), desc(notes.id)];

export const firstNotes = defineStatement(
  "firstNotes",
  (db, p: Params<{ userId: string; limit: number }>) =>
    db.select().from(notes).where(eq(notes.userId, p.userId)).orderBy(...byAge).limit(p.limit),
);

export const nextNotes = defineStatement(
  "nextNotes",
  (db, p: Params<{ userId: string; limit: number; createdAt: Date; id: string }>) =>
    db.select().from(notes)
      .where(and(
        eq(notes.userId, p.userId),
        or(
          lt(notes.createdAt, p.createdAt),
          and(eq(notes.createdAt, p.createdAt), lt(notes.id, p.id)),
        ),
      ))
      .orderBy(...byAge).limit(p.limit),
);

export const findNote = defineStatement(
  "findNote",
  (db, p: Params<{ userId: string; id: string }>) =>
    db.select().from(notes).where(and(eq(notes.id, p.id), eq(notes.userId, p.userId))),
  { map: (found) => found.at(0) },
);

const addNote = defineStatement(
  "addNote",
  (db, p: Params<NewNote>) =>
    db.insert(notes).values({
      userId: p.userId,
      labelId: p.labelId,
      title: p.title,
      body: p.body,
      color: p.color,
      priority: p.priority,
      pinned: p.pinned,
      tags: p.tags,
      dueAt: p.dueAt,
    }).returning(),
  { map: ([note]) => note },
);

const addActivity = defineStatement(
  "addActivity",
  (db, p: Params<{ noteId: string; userId: string }>) =>
    db.insert(noteActivity).values({ noteId: p.noteId, userId: p.userId, action: "created" }),
);

export const createNote = defineQuery(
  {
    tables: [
      { table: notes, operations: [Select, Insert] },
      { table: labels, operations: [Select] },
      { table: noteActivity, operations: [Insert] },
    ],
    transaction: true,
    constraints: { notes_label_id_fkey: { field: "labelId", message: "is not a label" } },
  },
  async function createNote(tx, note: NewNote) {
    const created = await addNote.on(tx, note);
    await addActivity.on(tx, { noteId: created.id, userId: note.userId });
    return created;
  },
);
