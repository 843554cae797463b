import { DatabaseOperation } from "@trellis/fn/database";
import { and, asc, eq, gte, isNotNull, sql } from "@trellis/fn/database/orm";
import type { Position } from "../cursor.ts";
import { defineQuery } from "../database.ts";
import { bookedNights, rooms } from "../schema.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

const ROOM = {
  id: rooms.id,
  name: rooms.name,
  description: rooms.description,
  hasPhoto: sql<boolean>`${isNotNull(rooms.photo)}`,
};

/** Reads one row more than the limit, which shows whether there is a next page. */
export const listRooms = defineQuery(
  { tables: [{ table: rooms, operations: [Select] }] },
  async function listRooms(db, limit: number, after?: Position) {
    return await db.select(ROOM).from(rooms)
      .where(after && sql`(${rooms.name}, ${rooms.id}) > (${after[0]}, ${after[1]}::uuid)`)
      .orderBy(asc(rooms.name), asc(rooms.id))
      .limit(limit + 1);
  },
);

export const findRoom = defineQuery(
  {
    tables: [
      { table: rooms, operations: [Select] },
      { table: bookedNights, operations: [Select] },
    ],
  },
  async function findRoom(db, roomId: string) {
    const [room] = await db.select(ROOM).from(rooms).where(eq(rooms.id, roomId));
    if (room === undefined) return undefined;
    const nights = await db.select({ night: bookedNights.night }).from(bookedNights)
      .where(and(eq(bookedNights.roomId, roomId), gte(bookedNights.night, sql`current_date`)))
      .orderBy(asc(bookedNights.night))
      .limit(366);
    return { ...room, bookedNights: nights.map(({ night }) => night) };
  },
);

export const createRoom = defineQuery(
  {
    tables: [{ table: rooms, operations: [Select, Insert] }],
    constraints: { rooms_name_unique: { field: "name", message: "is taken" } },
  },
  async function createRoom(db, room: { name: string; description: string }) {
    const [created] = await db.insert(rooms).values(room).returning(ROOM);
    return created;
  },
);

export const deleteRoom = defineQuery(
  {
    tables: [{ table: rooms, operations: [Select, Delete] }],
    constraints: { bookings_room_id_fk: { field: "roomId", message: "has bookings" } },
  },
  async function deleteRoom(db, roomId: string) {
    const deleted = await db.delete(rooms).where(eq(rooms.id, roomId)).returning({ id: rooms.id });
    return deleted.length > 0;
  },
);

export const findPhoto = defineQuery(
  { tables: [{ table: rooms, operations: [Select] }] },
  async function findPhoto(db, roomId: string) {
    const [room] = await db.select({ photo: rooms.photo }).from(rooms).where(eq(rooms.id, roomId));
    return room?.photo ?? undefined;
  },
);

export const setPhoto = defineQuery(
  { tables: [{ table: rooms, operations: [Select, Update] }] },
  async function setPhoto(db, roomId: string, photo: string) {
    await db.update(rooms).set({ photo }).where(eq(rooms.id, roomId));
  },
);
