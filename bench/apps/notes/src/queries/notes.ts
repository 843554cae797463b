import { DatabaseOperation } from "@trellis/fn/database";
import { and, desc, eq, lt, or, sql } from "@trellis/fn/database/orm";
import { definePreparedQuery } from "../database.ts";
import { labels, noteActivity, notes } from "../schema.ts";

const { Select, Insert } = DatabaseOperation;
const { userId: _, ...NOTE } = {
  id: notes.id,
  userId: notes.userId,
  labelId: notes.labelId,
  title: notes.title,
  body: notes.body,
  color: notes.color,
  priority: notes.priority,
  pinned: notes.pinned,
  tags: notes.tags,
  dueAt: notes.dueAt,
  createdAt: notes.createdAt,
  updatedAt: notes.updatedAt,
};
type NewNote = typeof notes.$inferInsert;

const given = sql.placeholder;
const NEW_NOTE = {
  userId: given("userId"),
  labelId: given("labelId"),
  title: given("title"),
  body: given("body"),
  color: given("color"),
  priority: given("priority"),
  pinned: given("pinned"),
  tags: given("tags"),
  dueAt: given("dueAt"),
};
const NEW_ACTIVITY = { noteId: given("noteId"), userId: given("userId"), action: "created" };

const readsNotes = { tables: [{ table: notes, operations: [Select] }] };
const byAge = [desc(notes.createdAt), desc(notes.id)];

export const firstNotes = definePreparedQuery(
  readsNotes,
  function firstNotes(db, userId: string, limit: number) {
    return db.select(NOTE).from(notes).where(eq(notes.userId, sql.placeholder("userId")))
      .orderBy(...byAge).limit(sql.placeholder("limit"))
      .prepare("first_notes").execute({ userId, limit });
  },
);

export const nextNotes = definePreparedQuery(
  readsNotes,
  function nextNotes(db, userId: string, limit: number, createdAt: Date, id: string) {
    return db.select(NOTE).from(notes)
      .where(and(
        eq(notes.userId, sql.placeholder("userId")),
        or(
          lt(notes.createdAt, sql.placeholder("createdAt")),
          and(
            eq(notes.createdAt, sql.placeholder("createdAt")),
            lt(notes.id, sql.placeholder("id")),
          ),
        ),
      ))
      .orderBy(...byAge).limit(sql.placeholder("limit"))
      .prepare("next_notes").execute({ userId, limit, createdAt, id });
  },
);

export const findNote = definePreparedQuery(
  readsNotes,
  async function findNote(db, userId: string, id: string) {
    const [note] = await db.select(NOTE).from(notes)
      .where(and(eq(notes.id, sql.placeholder("id")), eq(notes.userId, sql.placeholder("userId"))))
      .prepare("find_note").execute({ userId, id });
    return note;
  },
);

export const createNote = definePreparedQuery(
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
    const [created] = await tx.insert(notes).values(NEW_NOTE).returning(NOTE)
      .prepare("add_note").execute(note);
    await tx.insert(noteActivity).values(NEW_ACTIVITY).prepare("add_activity")
      .execute({ noteId: created.id, userId: note.userId });
    return created;
  },
);
