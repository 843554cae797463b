CREATE TYPE "booking_status" AS ENUM ('requested', 'confirmed', 'cancelled');
--> statement-breakpoint
CREATE TABLE "rooms" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "name" text NOT NULL,
  "description" text NOT NULL,
  "photo" text,
  CONSTRAINT "rooms_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "bookings" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "room_id" uuid NOT NULL CONSTRAINT "bookings_room_id_fk" REFERENCES "rooms" ("id"),
  "user_id" uuid NOT NULL CONSTRAINT "bookings_user_id_fk" REFERENCES "users" ("id"),
  "arrival" date NOT NULL,
  "departure" date NOT NULL,
  "status" "booking_status" DEFAULT 'requested' NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "bookings_user_id_arrival_id_idx" ON "bookings" ("user_id", "arrival", "id");
--> statement-breakpoint
CREATE INDEX "bookings_status_arrival_id_idx" ON "bookings" ("status", "arrival", "id");
--> statement-breakpoint
CREATE INDEX "bookings_room_id_idx" ON "bookings" ("room_id");
--> statement-breakpoint
-- one row for each night of a booking: two bookings of a night violate the primary key
CREATE TABLE "booked_nights" (
  "room_id" uuid NOT NULL CONSTRAINT "booked_nights_room_id_fk" REFERENCES "rooms" ("id"),
  "night" date NOT NULL,
  "booking_id" uuid NOT NULL CONSTRAINT "booked_nights_booking_id_fk" REFERENCES "bookings" ("id"),
  CONSTRAINT "booked_nights_pkey" PRIMARY KEY ("room_id", "night")
);
--> statement-breakpoint
CREATE INDEX "booked_nights_booking_id_idx" ON "booked_nights" ("booking_id");
