SELECT 'main', 1
