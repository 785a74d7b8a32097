import { dateOf } from './calendar.ts';
import { randomCustomerId, randomItems } from './generate-invoices.ts';
import type { Random } from './random.ts';
import type { Order, Product, Quote, Supplier, Ticket, User } from './rows.ts';
import { firstNames, goods, lastNames, legalForms, notes, subjects, trades } from './sample-texts.ts';

/** Lists that stay small in every installation. Each function generates one row without its id. */

export const ticketStates = ['Open', 'Closed', 'Pending'] as const;

export function randomProduct(random: Random): Omit<Product, 'id'> {
  return {
    name: `${random.pick(goods)} #${random.int(1, 999)}`,
    price: random.int(0, 500_000) / 100,
    description: random.chance(0.2) ? null : random.pick(notes),
    type: random.chance(0.3) ? 'service' : 'product',
    tax_rate: random.pick([0, 5.5, 7, 19, 20, null]),
  };
}

export function randomQuote(random: Random, customerIds: Int32Array, today: number): Omit<Quote, 'id'> {
  return {
    customer_id: randomCustomerId(customerIds, random),
    valid_until: random.chance(0.05) ? null : dateOf(today - random.int(-30, 1500)),
    items: randomItems(random),
  };
}

export function randomTicket(random: Random, customerIds: Int32Array): Omit<Ticket, 'id'> {
  return {
    customer_id: randomCustomerId(customerIds, random),
    subject: random.pick(subjects),
    message: random.chance(0.05) ? '' : random.pick(notes),
    department_id: random.int(1, 5),
    priority: random.pick(['Low', 'Medium', 'High']),
    status: random.pick(ticketStates),
  };
}

export function randomUser(random: Random, index: number): Omit<User, 'id'> {
  return {
    name: `${random.pick(firstNames)} ${random.pick(lastNames)}`,
    email: `user${index + 1}@example.com`,
    role: index === 0 ? 'administrator' : random.pick(['staff', 'accountant', 'administrator']),
  };
}

export function randomOrder(random: Random, prefix: string, index: number, today: number): Omit<Order, 'id'> {
  return {
    number: `${prefix}-${String(index + 1).padStart(5, '0')}`,
    total: random.int(100, 900_000) / 100,
    placed_on: dateOf(today - random.int(0, 900)),
  };
}

export function randomSupplier(random: Random, index: number): Omit<Supplier, 'id'> {
  return {
    name: `${random.pick(lastNames)} ${random.pick(trades)} ${random.pick(legalForms)}`.trimEnd(),
    email: random.chance(0.1) ? null : `supplier${index + 1}@example.com`,
  };
}
