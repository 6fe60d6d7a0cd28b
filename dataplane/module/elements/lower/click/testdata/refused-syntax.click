a :: Queue -> { input -> Null -> b;
