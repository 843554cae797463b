import {
  date,
  index,
  pgEnum,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import { users } from "./auth_schema.ts";

export * from "./auth_schema.ts";
export { trellisJobs } from "@trellis/fn/jobs";
export { trellisWorkflowEntries, trellisWorkflows } from "@trellis/fn/workflows";

export const bookingStatus = pgEnum("booking_status", ["requested", "confirmed", "cancelled"]);

/** Rooms. `photo` is the key of a file in the bucket. */
export const rooms = pgTable("rooms", {
  id: uuid("id").primaryKey().defaultRandom(),
  name: text("name").notNull(),
  description: text("description").notNull(),
  photo: text("photo"),
}, (table) => [unique("rooms_name_unique").on(table.name)]);

/** Stays of guests, from the day of arrival to the day of departure. */
export const bookings = pgTable("bookings", {
  id: uuid("id").primaryKey().defaultRandom(),
  roomId: uuid("room_id").notNull().references(() => rooms.id),
  userId: uuid("user_id").notNull().references(() => users.id),
  arrival: date("arrival").notNull(),
  departure: date("departure").notNull(),
  status: bookingStatus("status").notNull().default("requested"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
}, (table) => [
  index("bookings_user_id_arrival_id_idx").on(table.userId, table.arrival, table.id),
  index("bookings_status_arrival_id_idx").on(table.status, table.arrival, table.id),
  index("bookings_room_id_idx").on(table.roomId),
]);

/** The nights of bookings that are not cancelled. The primary key refuses a second booking of a night. */
export const bookedNights = pgTable("booked_nights", {
  roomId: uuid("room_id").notNull().references(() => rooms.id),
  night: date("night").notNull(),
  bookingId: uuid("booking_id").notNull().references(() => bookings.id),
}, (table) => [
  primaryKey({ name: "booked_nights_pkey", columns: [table.roomId, table.night] }),
  index("booked_nights_booking_id_idx").on(table.bookingId),
]);
