import { DatabaseOperation, type Params } from "@trellis/fn/database";
import { and, asc, eq, gte, isNotNull, sql } from "@trellis/fn/database/orm";
import { defineQuery, defineStatement } from "../database.ts";
import { bookedNights, rooms } from "../schema.ts";
import type { RoomPosition } from "../schemas.ts";

const { Select } = DatabaseOperation;

const ROOM = {
  id: rooms.id,
  name: rooms.name,
  description: rooms.description,
  hasPhoto: sql<boolean>`${isNotNull(rooms.photo)}`,
};

export const listRooms = defineQuery(
  { tables: [{ table: rooms, operations: [Select] }] },
  async function listRooms(db, take: number, after?: RoomPosition) {
    return await db.select(ROOM).from(rooms)
      .where(after && sql`(${rooms.name}, ${rooms.id}) > (${after[0]}, ${after[1]}::uuid)`)
      .orderBy(asc(rooms.name), asc(rooms.id))
      .limit(take);
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

export const createRoom = defineStatement(
  "createRoom",
  (db, p: Params<{ name: string; description: string }>) =>
    db.insert(rooms).values({ name: p.name, description: p.description }).returning(ROOM),
  {
    map: ([room]) => room,
    constraints: { rooms_name_unique: { field: "name", message: "is taken" } },
  },
);

export const deleteRoom = defineStatement(
  "deleteRoom",
  (db, p: Params<{ roomId: string }>) =>
    db.delete(rooms).where(eq(rooms.id, p.roomId)).returning({ id: rooms.id }),
  {
    map: (deleted) => deleted.length > 0,
    constraints: { bookings_room_id_fk: { field: "roomId", message: "has bookings" } },
  },
);

export const findPhoto = defineStatement(
  "findPhoto",
  (db, p: Params<{ roomId: string }>) =>
    db.select({ photo: rooms.photo }).from(rooms).where(eq(rooms.id, p.roomId)),
  { map: (found) => found.at(0)?.photo ?? undefined },
);

export const setPhoto = defineStatement(
  "setPhoto",
  (db, p: Params<{ roomId: string; photo: string }>) =>
    db.update(rooms).set({ photo: p.photo }).where(eq(rooms.id, p.roomId)),
);
