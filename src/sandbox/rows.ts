/** The rows the sandbox holds, one type per resource, with every documented field. `null` is "none". */

/** A number, or the decimal text of one with more digits than a double holds. */
export type Amount = number | string;

export interface Customer {
  id: number;
  account: string;
  email: string | null;
  phone: string | null;
  address: string | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  country: string | null;
  created_at: string;
  updated_at: string;
}

export interface Item {
  description: string | null;
  amount: Amount;
  qty: number;
}

export interface Invoice {
  id: number;
  invoice_number: string;
  customer_id: number;
  date: string | null;
  due_date: string | null;
  amount: Amount;
  status: string;
  items: Item[];
  notes: string | null;
}

export interface Transaction {
  id: number;
  type: string;
  account_id: number;
  category_id: number | null;
  amount: Amount;
  description: string | null;
  date: string | null;
}

export interface Product {
  id: number;
  name: string;
  price: Amount;
  description: string | null;
  type: string;
  tax_rate: number | null;
}

export interface Quote {
  id: number;
  customer_id: number;
  valid_until: string | null;
  items: Item[];
}

export interface Ticket {
  id: number;
  customer_id: number;
  subject: string;
  message: string | null;
  department_id: number;
  priority: string;
  status: string;
}

interface Lead {
  id: number;
  first_name: string;
  last_name: string;
  email: string | null;
  company: string | null;
  phone: string | null;
  source: string | null;
}

export interface User {
  id: number;
  name: string;
  email: string;
  role: string;
}

/** Orders and purchases: the API shows no fields of theirs, so these are made up. */
export interface Order {
  id: number;
  number: string;
  total: Amount;
  placed_on: string;
}

export interface Supplier {
  id: number;
  name: string;
  email: string | null;
}

export interface Rows {
  customers: Customer;
  invoices: Invoice;
  transactions: Transaction;
  products: Product;
  quotes: Quote;
  tickets: Ticket;
  leads: Lead;
  users: User;
  orders: Order;
  suppliers: Supplier;
  purchases: Order;
}

export type Resource = keyof Rows;
